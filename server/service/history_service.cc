#include <string_view>
#include <utility>

#include "server/api/convert.h"
#include "server/browse/search_turns.h"
#include "server/service/services.h"
#include "wq/history.h"
#include "wq/v1/browse.pb.h"

namespace wq {

// Reads files, into memory: one call at a time.
void AddHistoryService(HistoryReader read, SearchTurns* turns, MethodTable* table) {
  table->Add(Unary<v1::GetHistoryRequest, v1::GetHistoryResponse>(
      kBrowseService, "GetHistory",
      [read = std::move(read), turns](const Caller& caller, const auto& request, auto* response) {
        const SearchTurn turn(turns, caller);
        if (!turn.status().ok()) {
          return turn.status();
        }
        KeyHistory history;
        Status s = read(request.queue(), request.key(), request.limit(), &history);
        ToHistory(history, response);
        return s;
      },
      Waits));
}

}  // namespace wq

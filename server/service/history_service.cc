#include <string_view>
#include <utility>

#include "server/api/convert.h"
#include "server/service/services.h"
#include "wq/history.h"
#include "wq/v1/browse.pb.h"

namespace wq {

// Reads files.
void AddHistoryService(HistoryReader read, MethodTable* table) {
  table->Add(Unary<v1::GetHistoryRequest, v1::GetHistoryResponse>(
      kBrowseService, "GetHistory",
      [read = std::move(read)](const v1::GetHistoryRequest& request,
                               v1::GetHistoryResponse* response) {
        KeyHistory history;
        Status s = read(request.queue(), request.key(), request.limit(), &history);
        ToHistory(history, response);
        return s;
      },
      [](const v1::GetHistoryRequest&) { return true; }));
}

}  // namespace wq

// The services of proto/wq/v1 as methods of a table. docs/server.md is their reference.
//
// Threading: the methods are thread-safe. Lifetime: they borrow what they are made of, which
// outlives the table.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/api/method.h"
#include "server/api/store_access.h"
#include "server/browse/key_source.h"
#include "server/browse/search_turns.h"
#include "server/work/work_hub.h"
#include "wq/history.h"
#include "wq/v1/browse.pb.h"

namespace wq {

inline constexpr std::string_view kBrowseService = "wq.v1.Browse";

void AddQueueService(StoreAccess* access, MethodTable* table);
void AddWorkService(WorkHub* hub, MethodTable* table);
// `read` is as Store::History.
using HistoryReader = std::function<Status(std::string_view queue, std::string_view key,
                                           size_t limit, KeyHistory* history)>;
// Browse.GetHistory.
void AddHistoryService(HistoryReader read, SearchTurns* turns, MethodTable* table);
void AddAdminService(StoreAccess* access, WorkHub* hub, MethodTable* table);
// Browse.GetOverview and Browse.GetSeries. Both readers may block.
using OverviewReader = std::function<void(const std::string& queue, v1::GetOverviewResponse*)>;
using SeriesReader = std::function<Status(const v1::GetSeriesRequest&, v1::GetSeriesResponse*)>;
void AddOverviewService(OverviewReader read, SeriesReader read_series, MethodTable* table);
// What the calls of Browse read. `access` and `hub` are null if the store is not served by its
// owner.
struct BrowseAccess {
  const KeySource* keys = nullptr;
  SearchTurns* turns = nullptr;
  StoreAccess* access = nullptr;
  WorkHub* hub = nullptr;
};
// Search, GetKey, GroupErrors.
void AddBrowseKeys(const BrowseAccess& browse, MethodTable* table);
// Admin.ChangeMatching. `browse.access` is set.
void AddChangeMatching(const BrowseAccess& browse, MethodTable* table);

}  // namespace wq

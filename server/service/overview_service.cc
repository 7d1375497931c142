#include <utility>

#include "server/service/services.h"

namespace wq {

void AddOverviewService(OverviewReader read, SeriesReader read_series, MethodTable* table) {
  table->Add(Unary<v1::GetOverviewRequest, v1::GetOverviewResponse>(
      kBrowseService, "GetOverview",
      [read = std::move(read)](const v1::GetOverviewRequest& request,
                               v1::GetOverviewResponse* response) {
        read(request.queue(), response);
        return Status::Ok();
      },
      [](const v1::GetOverviewRequest&) { return true; }));
  table->Add(Unary<v1::GetSeriesRequest, v1::GetSeriesResponse>(
      kBrowseService, "GetSeries", std::move(read_series),
      [](const v1::GetSeriesRequest&) { return true; }));
}

}  // namespace wq

#include <utility>

#include "server/service/services.h"

namespace wq {

void AddOverviewService(OverviewReader read, SeriesReader read_series, MethodTable* table) {
  table->Add(Unary<v1::GetOverviewRequest, v1::GetOverviewResponse>(
      kBrowseService, "GetOverview",
      [read = std::move(read)](const auto& request, auto* response) {
        read(request.queue(), response);
        return Status::Ok();
      },
      Waits));
  table->Add(Unary<v1::GetSeriesRequest, v1::GetSeriesResponse>(kBrowseService, "GetSeries",
                                                                std::move(read_series), Waits));
}

}  // namespace wq

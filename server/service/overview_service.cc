#include "server/service/overview.h"
#include "server/service/services.h"
#include "wq/v1/browse.pb.h"

namespace wq {
namespace {

constexpr std::string_view kOverviewService = "wq.v1.Browse";

}  // namespace

// Counts fires delays, which may wait for the disk.
void AddOverviewService(Overview* overview, MethodTable* table) {
  table->Add(Unary<v1::GetOverviewRequest, v1::GetOverviewResponse>(
      kOverviewService, "GetOverview",
      [overview](const v1::GetOverviewRequest& request, v1::GetOverviewResponse* response) {
        overview->Read(request.queue(), response);
        return Status::Ok();
      },
      [](const v1::GetOverviewRequest&) { return true; }));
  table->Add(Unary<v1::GetSeriesRequest, v1::GetSeriesResponse>(
      kOverviewService, "GetSeries",
      [overview](const v1::GetSeriesRequest& request, v1::GetSeriesResponse* response) {
        return overview->ReadSeries(request, response);
      }));
}

}  // namespace wq

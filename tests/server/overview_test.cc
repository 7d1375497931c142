// The series of a page, as a server answers with them.

#include <memory>

#include <gtest/gtest.h>

#include "server/service/overview.h"
#include "wq/store.h"

namespace wq {
namespace {

TEST(OverviewTest, TheSeriesAreThereBeforeTheFirstPoint) {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  ASSERT_TRUE(Store::OpenInMemory({}, &store).ok());
  ASSERT_TRUE(store->OpenQueue("pods", {}, &queue).ok());
  const StoreAccess access(store.get(), nullptr, false);
  for (const bool has_series : {true, false}) {
    const Overview overview(
        {.access = &access, .hub = nullptr, .clock = Clock::System(), .has_series = has_series});
    v1::GetSeriesRequest request;
    request.set_queue("pods");
    v1::GetSeriesResponse response;
    const Status status = overview.ReadSeries(request, &response);
    EXPECT_EQ(status.code(), has_series ? StatusCode::kOk : StatusCode::kNotSupported);
    EXPECT_EQ(response.queued_size(), has_series ? 360 : 0);
  }
}

}  // namespace
}  // namespace wq

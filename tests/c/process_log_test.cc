// The process log in the C interface: its options, and its status.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/c/c_fixture.h"
#include "tests/support/environment.h"
#include "wq/store_view.h"

namespace wq::c {
namespace {

class ProcessLogCTest : public CTest {
 protected:
  // The status of a store with these options on disk, or the error of its opening.
  wq_code StatusWith(const wq_store_options& options) {
    wq_store store = WQ_NO_STORE;
    wq_code code = wq_store_open((scratch_ / "store").c_str(), &options, &store, &error_);
    if (code == WQ_OK) {
      code = wq_store_process_log_status(store, &error_);
      std::unique_ptr<StoreView> view;
      EXPECT_TRUE(StoreView::Open(scratch_ / "store", &view).ok());
      bytes_on_disk_ = view->info().process_log_bytes;
      EXPECT_EQ(wq_store_free(store, nullptr), WQ_OK);
    }
    return code;
  }

  static wq_store_options Options() {
    wq_store_options options{};
    options.size = sizeof options;
    options.create_if_missing = 1;
    return options;
  }

  const support::ScratchDirectory scratch_;
  uint64_t bytes_on_disk_ = 0;
};

TEST_F(ProcessLogCTest, AStoreOnDiskHasOneOfTheDefaultSize) {
  EXPECT_EQ(StatusWith(Options()), WQ_OK) << error_.message;
  EXPECT_GE(bytes_on_disk_, uint64_t{8} << 20);
}

TEST_F(ProcessLogCTest, ItsSizeIsAnOption) {
  wq_store_options options = Options();
  options.process_log_bytes = uint64_t{1} << 20;
  EXPECT_EQ(StatusWith(options), WQ_OK) << error_.message;
  EXPECT_GE(bytes_on_disk_, uint64_t{1} << 20);
  EXPECT_LT(bytes_on_disk_, uint64_t{2} << 20);
  options.process_log_bytes = (uint64_t{1} << 30) + 1;
  EXPECT_EQ(StatusWith(options), WQ_INVALID_ARGUMENT);
}

TEST_F(ProcessLogCTest, NoneWhateverTheSizeIfItIsTurnedOff) {
  wq_store_options options = Options();
  options.process_log_bytes = uint64_t{1} << 20;
  options.no_process_log = 1;
  EXPECT_EQ(StatusWith(options), WQ_NOT_FOUND) << error_.message;
  EXPECT_EQ(bytes_on_disk_, 0U);
}

TEST_F(ProcessLogCTest, AStoreInMemoryHasNone) {
  EXPECT_EQ(wq_store_process_log_status(store_, &error_), WQ_NOT_FOUND);
}

TEST_F(ProcessLogCTest, OptionsOfAnEarlierVersionHaveTheDefault) {
  wq_store_options options = Options();
  options.size = offsetof(wq_store_options, process_log_bytes);
  options.process_log_bytes = (uint64_t{1} << 30) + 1;  // Behind the end: not read.
  EXPECT_EQ(StatusWith(options), WQ_OK) << error_.message;
  EXPECT_GE(bytes_on_disk_, uint64_t{8} << 20);
}

}  // namespace
}  // namespace wq::c

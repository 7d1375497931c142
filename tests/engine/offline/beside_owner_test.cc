// Readers beside an owner that changes the store at full speed, by its process log: each reading is
// of one instant, has everything that was acknowledged before it began, and none fails.

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/snapshot.h"
#include "wq/store.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kWindow = 100;  // The keys that each queue has.

// The keys of a queue: first <= n < end.
struct Range {
  uint64_t first = 0;
  uint64_t end = 0;
};

// The parameter is StoreOptions::process_log_bytes.
class BesideOwnerTest : public ::testing::TestWithParam<size_t> {
 protected:
  BesideOwnerTest() {
    Status s = Store::Open({.create_if_missing = true,
                            .max_wal_bytes = size_t{1} << 20,
                            .write_buffer_bytes = size_t{256} << 10,
                            .process_log_bytes = GetParam()},
                           dir_, &store_);
    for (size_t q = 0; q < 2 && s.ok(); ++q) {
      s = store_->OpenQueue(q == 0 ? "a" : "b", {}, &queues_[q]);
    }
    EXPECT_TRUE(s.ok()) << s.ToString();
  }

  // Key n is added to queue a, then to b; then key n - kWindow is processed in a, then in b. All
  // states of the disk are states between two of these calls.
  void Work() {
    std::string key;
    for (uint64_t n = 0; !stop_; ++n) {
      for (Queue* queue : queues_) {
        ASSERT_TRUE(queue->Add(std::to_string(n)).ok());
      }
      added_ = n + 1;
      for (Queue* queue : queues_) {
        if (n < kWindow) continue;
        ASSERT_TRUE(queue->GetFor(0ms, &key).ok());
        ASSERT_EQ(key, std::to_string(n - kWindow));
        ASSERT_TRUE(queue->Done(key).ok());
      }
    }
  }

  static void ReadRange(const StoreView& view, const char* queue, Range* range) {
    bool first = true;
    const Status s = view.ForEachEntry(queue, [&](const Entry& entry) {
      const uint64_t n = std::stoull(entry.key);
      EXPECT_TRUE(first || n == range->end) << queue << ": " << n << " follows " << range->end - 1;
      if (first) range->first = n;
      first = false;
      range->end = n + 1;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
  }

  // `added`: how many keys had been added to both queues before the reading began.
  static void Check(const std::string& dir, uint64_t added) {
    std::unique_ptr<StoreView> view;
    const Status s = StoreView::Open(dir, &view);
    ASSERT_TRUE(s.ok()) << s.ToString();
    Range a;
    Range b;
    ReadRange(*view, "a", &a);
    ReadRange(*view, "b", &b);
    EXPECT_GE(b.end, added);
    EXPECT_TRUE(a.end == b.end || (a.end == b.end + 1 && a.first == b.first))
        << a.first << " to " << a.end << ", " << b.first << " to " << b.end;
    EXPECT_TRUE(a.first == b.first || a.first == b.first + 1) << a.first << ", " << b.first;
    if (b.end > kWindow) {
      EXPECT_GE(b.first + kWindow + 1, b.end);
      EXPECT_LE(a.first + kWindow, a.end);
    }
  }

  // Calls `read` for two seconds, and three times at least, beside the owner.
  template <typename Read>
  void Run(Read read) {
    std::thread owner([this] { Work(); });
    const auto until = std::chrono::steady_clock::now() + 2s;
    uint64_t readings = 0;
    while ((std::chrono::steady_clock::now() < until || readings < 3) &&
           !::testing::Test::HasFailure()) {
      read(added_.load());
      ++readings;
    }
    stop_ = true;
    owner.join();
    std::cout << "total: " << readings << " readings beside " << 2 * added_.load() << " keys\n";
    EXPECT_TRUE(store_->ProcessLogStatus().ok());
  }

  const support::ScratchDirectory root_;
  const std::string dir_ = root_ / "store";
  std::unique_ptr<Store> store_;
  Queue* queues_[2] = {};
  std::atomic<uint64_t> added_{0};
  std::atomic<bool> stop_{false};
};

TEST_P(BesideOwnerTest, AViewIsOfOneInstant) {
  Run([this](uint64_t added) { Check(dir_, added); });
}

TEST_P(BesideOwnerTest, ASnapshotIsOfOneInstant) {
  Run([this, n = 0](uint64_t added) mutable {
    SnapshotInfo info;
    std::string name = "s";
    name += std::to_string(n++);
    const Status s =
        CreateSnapshot(dir_, root_ / "snapshots", {.name = name, .link_tables = n % 2 == 0}, &info);
    ASSERT_TRUE(s.ok()) << s.ToString();
    Check(root_ / ("snapshots/" + name), added);
  });
}

INSTANTIATE_TEST_SUITE_P(ProcessLog, BesideOwnerTest,
                         ::testing::Values(size_t{16} << 10, size_t{8} << 20),
                         [](const auto& info) { return std::to_string(info.param >> 10) + "KiB"; });

}  // namespace
}  // namespace wq

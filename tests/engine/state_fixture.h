// A QueueState on a disk of maps. After every transition the disk is brought up to date, and what a
// crash at this instant would leave is rebuilt and can be compared.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/queue_state.h"
#include "engine/recovery.h"
#include "storage/memory_storage.h"
#include "storage/records.h"
#include "wq/keys.h"

namespace wq {

inline constexpr int64_t kSecond = 1'000'000;

class StateFixture {
 public:
  explicit StateFixture(QueueState::Config config = {.id = 7, .order = Order::kTwoLanes})
      : config_(config), disk_(std::make_shared<storage::MemoryDisk>()), storage_(disk_) {
    state_ = std::make_unique<QueueState>(config_, &batch_);
  }

  QueueState& state() { return *state_; }
  Time now{1000 * kSecond, 5000 * kSecond};

  // --- Verbs ---

  AddOutcome Add(std::string_view key, std::optional<Lane> lane = {}) {
    const AddOutcome outcome = state_->Add(key, lane, now.wall_us).outcome;
    Commit();
    return outcome;
  }
  AddOutcome AddAfter(std::string_view key, int64_t delay_us, std::optional<Lane> lane = {}) {
    const AddOutcome outcome = state_->AddAfter(key, delay_us, lane, now).outcome;
    Commit();
    return outcome;
  }
  void Fail(std::string_view key, int64_t delay_us, std::string_view error = "boom") {
    state_->AddRateLimited(key, delay_us, error, {}, now);
    Commit();
  }
  void Forget(std::string_view key) {
    state_->Forget(key);
    Commit();
  }
  // "" if nothing is queued.
  std::string Get() {
    const Item* item = state_->Get();
    EXPECT_TRUE(batch_.empty()) << "Get must write nothing";
    return item == nullptr ? "" : std::string(item->key());
  }
  // The next `n` keys in one string.
  std::string Get(int n) {
    std::string keys;
    for (int i = 0; i < n; ++i) {
      keys += Get();
    }
    return keys;
  }
  bool Done(std::string_view key) {
    const bool done = state_->Done(key);
    Commit();
    return done;
  }
  size_t Advance(int64_t by_us) {
    now.steady_us += by_us;
    now.wall_us += by_us;
    const size_t fired = state_->FireDue(now, SIZE_MAX);
    Commit();
    return fired;
  }

  // Drops the state as a kill would, and recovers it from the disk.
  void Crash() {
    batch_.Clear();
    state_ = std::make_unique<QueueState>(config_, &batch_);
    const Status s = Recover(storage_, config_.id, now, state_.get());
    EXPECT_TRUE(s.ok()) << s.ToString();
    Commit();
  }
  void Reopen(QueueState::Config config) {
    config_ = config;
    Crash();
  }

  // --- Renderings ---

  // "2 queued, 1 processing", leaving out what is zero; "clean" if all is.
  std::string Counts() const {
    const QueueCounts c = state_->Counts();
    std::string text;
    const auto say = [&text](size_t n, const char* what) {
      if (n > 0) {
        text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + what;
      }
    };
    say(c.queued, "queued");
    say(c.processing, "processing");
    say(c.delayed, "delayed");
    say(c.failing, "failing");
    return text.empty() ? "clean" : text;
  }

  // What is on disk, in the order of a dump: "a b slow:c delayed:d@+5s failing:e=2".
  std::string Disk() const {
    std::ostringstream out;
    const char* gap = "";
    const auto item = [&]() -> std::ostream& {
      out << gap;
      gap = " ";
      return out;
    };
    Status s = storage::ScanPending(storage_, config_.id, [&](const storage::PendingRecord& r) {
      item() << (r.lane == kFastLane ? "" : LaneName(r.lane) + ":") << r.key;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    s = storage::ScanDelayed(storage_, config_.id, [&](const storage::DelayedRecord& r) {
      item() << "delayed:" << (r.lane == kFastLane ? "" : LaneName(r.lane) + ":") << r.key << "@"
             << (r.ready_at_us - now.wall_us) / kSecond << "s";
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    s = storage::ScanFailures(storage_, config_.id, [&](const storage::FailureRecord& r) {
      item() << "failing:" << r.key << "=" << r.count;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out.str();
  }

  storage::MemoryStorage& storage() { return storage_; }

 private:
  void Commit() {
    if (!batch_.empty()) {
      EXPECT_TRUE(storage_.Write(batch_, false).ok());
      batch_.Clear();
    }
    state_->Stamp(++position_);
  }

  QueueState::Config config_;
  std::shared_ptr<storage::MemoryDisk> disk_;
  storage::MemoryStorage storage_;
  storage::MutationBatch batch_;
  std::unique_ptr<QueueState> state_;
  Position position_ = 0;
};

}  // namespace wq

// StateFixture: a QueueState on a disk of maps. After every transition the disk is up to date;
// Crash rebuilds the state from it.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/recovery/recovery.h"
#include "engine/state/queue_state.h"
#include "storage/records.h"
#include "tests/support/memory_storage.h"
#include "wq/keys.h"

namespace wq {

inline constexpr int64_t kSecond = 1'000'000;

class StateFixture {
 public:
  static constexpr storage::QueueId kId = 7;

  explicit StateFixture(const QueueOptions& options = {.order = Order::kTwoLanes})
      : options_(options), disk_(std::make_shared<storage::MemoryDisk>()), storage_(disk_) {
    state_ = std::make_unique<QueueState>(kId, options_, &batch_);
  }

  QueueState& state() { return *state_; }
  Time now{1000 * kSecond, 5000 * kSecond};

  // --- Transitions ---

  AddOutcome Add(std::string_view key, std::optional<Lane> lane = {}, std::string_view group = {}) {
    const AddOutcome outcome =
        state_->Add(key, {.lane = lane, .group = group}, now.wall_us).outcome;
    Commit();
    return outcome;
  }
  AddOutcome AddAfter(std::string_view key, int64_t delay_us, std::optional<Lane> lane = {}) {
    const AddOutcome outcome = state_->AddAfter(key, delay_us, {.lane = lane}, now).outcome;
    Commit();
    return outcome;
  }
  AddOutcome Fail(std::string_view key, int64_t delay_us, std::string_view error = "boom") {
    const AddOutcome outcome =
        state_->AddRateLimited(key, {.delay_us = delay_us, .error = error}, {}, now).outcome;
    Commit();
    return outcome;
  }
  // "": nothing is queued.
  std::string Get(uint32_t shard = 0) {
    const Item* item = state_->Get(shard);
    EXPECT_TRUE(batch_.empty()) << "Get must write nothing";
    return item == nullptr ? "" : std::string(item->key());
  }
  // The same in a queue with limits, which may write a bucket.
  std::string Take(uint32_t shard = 0) {
    const Item* item = state_->Get(shard, now);
    Commit();
    return item == nullptr ? "" : std::string(item->key());
  }
  void SetLimits(const GroupLimits& of_groups) {
    state_->SetLimits({}, of_groups, now);
    Commit();
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

  // Discards the state as a kill would, and recovers it from the disk.
  void Crash() {
    batch_.Clear();
    state_ = std::make_unique<QueueState>(kId, options_, &batch_);
    const Status s = RestoreQueue(storage_, kId, now, state_.get());
    EXPECT_TRUE(s.ok()) << s.ToString();
    Commit();
  }
  void Reopen(const QueueOptions& options) {
    options_ = options;
    Crash();
  }
  // Makes a transition that has no method here.
  template <typename Transition>
  auto Do(const Transition& transition) {
    auto result = transition(*state_);
    Commit();
    return result;
  }

  // --- The state and the disk as text ---

  // "2 queued, 1 processing", without the zeros; "clean" if all are zero.
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
    say(c.quarantined, "quarantined");
    return text.empty() ? "clean" : text;
  }

  // The records on disk, in the order of a dump: "a b slow:c delayed:d@5s failing:e=2".
  std::string Disk() const {
    std::ostringstream out;
    const char* gap = "";
    const auto item = [&]() -> std::ostream& {
      out << gap;
      gap = " ";
      return out;
    };
    Status s = storage::ScanPending(storage_, kId, [&](const storage::PendingRecord& r) {
      item() << (r.lane == kFastLane ? "" : LaneName(r.lane) + ":") << r.key;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    s = storage::ScanDelayed(storage_, kId, [&](const storage::DelayedRecord& r) {
      item() << "delayed:" << (r.lane == kFastLane ? "" : LaneName(r.lane) + ":") << r.key << "@"
             << (r.ready_at_us - now.wall_us) / kSecond << "s";
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    s = storage::ScanFailures(storage_, kId, [&](const storage::FailureRecord& r) {
      item() << "failing:" << r.key << "=" << r.count;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    s = storage::ScanQuarantine(storage_, kId, [&](const storage::QuarantineRecord& r) {
      item() << "quarantined:" << r.failures.key << "=" << r.failures.count;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out.str();
  }

  // How many records the disk has not, or with another value, or beside those of memory.
  size_t RowsThatDiffer() {
    storage::MutationBatch rows;
    state_->AppendImage(&rows);
    size_t different = 0;
    size_t in_memory = 0;
    rows.ForEach([&](const storage::Mutation& row) {
      std::string value;
      const Status s = storage_.Get(row.family, row.key, &value);
      different += s.ok() && value == row.value ? 0 : 1;
      ++in_memory;
    });
    size_t on_disk = 0;
    for (int family = 0; family < storage::kFamilyCount; ++family) {
      const Status s = storage_.Scan(static_cast<storage::Family>(family), "", "",
                                     [&on_disk](auto, auto) { return ++on_disk != 0; });
      EXPECT_TRUE(s.ok()) << s.ToString();
    }
    return different + (on_disk - in_memory);
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

  QueueOptions options_;
  std::shared_ptr<storage::MemoryDisk> disk_;
  storage::MemoryStorage storage_;
  storage::MutationBatch batch_;
  std::unique_ptr<QueueState> state_;
  Position position_ = 0;
};

}  // namespace wq

#include "engine/commit/open_batch.h"

#include <memory>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/boot_id.h"
#include "base/check.h"
#include "engine/state/queue_state.h"
#include "storage/process_log.h"
#include "tests/support/environment.h"
#include "tests/support/memory_storage.h"

namespace wq {
namespace {

using storage::Family;
using storage::MutationBatch;

MutationBatch PutOf(const std::string& key) {
  MutationBatch batch;
  batch.Put(Family::kDirty, key, "v" + key);
  return batch;
}
MutationBatch EraseOf(const std::string& key) {
  MutationBatch batch;
  batch.Erase(Family::kDirty, key);
  return batch;
}

// The mutations to write, as "+a -b".
std::string Written(OpenBatch* open) {
  std::string text;
  open->Close().ForEach([&text](const storage::Mutation& mutation) {
    text.append(text.empty() ? "" : " ").append(mutation.is_put ? "+" : "-").append(mutation.key);
    EXPECT_EQ(mutation.value, mutation.is_put ? "v" + std::string(mutation.key) : "");
  });
  return text;
}

// An OpenBatch over a process log, to which each batch is appended first, as the journal does it.
class LoggedBatch {
 public:
  LoggedBatch() {
    const Status made = storage::ProcessLog::Create(
        dir_.path(),
        {.store_uuid = "a store", .boot_id = BootId(), .number = 1, .capacity = size_t{64} << 10},
        &log_);
    WQ_CHECK(made.ok(), "no process log");
    open_.emplace(log_.get());
  }
  // Returns the position of the batch.
  Position Append(const MutationBatch& batch, const RowChange& change) {
    const storage::LogPosition begin = log_->end();
    if (!full_ && open_->all_logged() && log_->Append(batch.mutations())) {
      open_->AppendLogged(++position_, batch, begin, change);
    } else {
      open_->Append(++position_, batch);
    }
    return position_;
  }
  Position Copy(const MutationBatch& batch) {
    SetFull(true);
    Append(batch, {});
    SetFull(false);
    return position_;
  }
  // Whether the next batches do not fit, as during a write of much.
  void SetFull(bool full) { full_ = full; }
  void MoveToLog() {
    const bool was_empty = open_->empty();
    const Position last = open_->MoveToLog(log_.get());
    EXPECT_TRUE(was_empty || (last == position_) == open_->all_logged());
  }
  void Clear() {
    log_->Release(log_->end());
    open_->Clear();
  }
  OpenBatch& open() { return *open_; }
  storage::ProcessLog& log() { return *log_; }

 private:
  support::ScratchDirectory dir_;
  std::unique_ptr<storage::ProcessLog> log_;
  std::optional<OpenBatch> open_;
  bool full_ = false;
  Position position_ = 6;
};

TEST(OpenBatch, ANewRowThatIsErasedIsNotWritten) {
  LoggedBatch logged;
  logged.Append(PutOf("a"), {.is_new = true});
  const Position b = logged.Append(PutOf("b"), {.is_new = true});
  logged.Append(PutOf("c"), {.is_new = true});
  logged.Append(EraseOf("b"), {.put_at = b});
  const Position d = logged.Append(PutOf("d"), {.is_new = true});
  logged.Append(EraseOf("d"), {.put_at = d});
  EXPECT_EQ(Written(&logged.open()), "+a +c");
}

TEST(OpenBatch, CopiedBatchesThatTheLogHasNoSpaceForStay) {
  LoggedBatch logged;
  const Position a = logged.Copy(PutOf("a"));
  MutationBatch large;
  large.Put(Family::kDirty, "l", std::string(size_t{40} << 10, 'v'));
  logged.Copy(large);
  logged.Copy(PutOf("b"));
  EXPECT_EQ(logged.open().MoveToLog(&logged.log()), a);
  EXPECT_FALSE(logged.open().all_logged());
  const storage::LogPosition end = logged.log().end();
  EXPECT_GT(end, 0U);
  EXPECT_EQ(logged.open().MoveToLog(&logged.log()), a);
  EXPECT_EQ(logged.log().end(), end);
  EXPECT_EQ(logged.open().Close().count(), 3U);
}

// A queue whose mutations are written to two stores: to one as they are, to the other through an
// OpenBatch.
class TwoDisks {
 public:
  explicit TwoDisks(uint64_t seed) : random_(seed) {}

  void Step() {
    Transition();
    if (batch_.empty()) {
      return;
    }
    all_.Append(batch_);
    state_.Stamp(logged_.Append(batch_, state_.row_change()));
    batch_.Clear();
  }
  void Write() {
    mutations_ += all_.count();
    ASSERT_TRUE(as_is_.Write(all_, false).ok());
    all_.Clear();
    MutationBatch& batch = logged_.open().Close();
    ASSERT_EQ(batch.empty(), logged_.open().empty());
    written_ += batch.count();
    ASSERT_TRUE(other_.Write(batch, false).ok());
    logged_.Clear();
    const MutexLock as_is_lock(as_is_disk_->mu);
    const MutexLock other_lock(other_disk_->mu);
    ASSERT_EQ(as_is_disk_->state.families, other_disk_->state.families);
  }
  // The log is full for some of the batches, and has space again later.
  void DrawSpace() {
    if (Draw(20) == 0) {
      logged_.SetFull(Draw(3) == 0);
      if (Draw(2) == 0) {
        logged_.MoveToLog();
      }
    }
  }
  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_()) % below; }
  size_t mutations() const { return mutations_; }
  size_t written() const { return written_; }

 private:
  std::string Key() { return std::string(1, static_cast<char>('a' + Draw(6))); }
  void Transition() {
    const Lane lane = Draw(3) == 0 ? kSlowLane : kFastLane;
    switch (Draw(14)) {
      case 0:
        state_.AddAfter(Key(), Draw(10), {.lane = lane}, now_);
        break;
      case 1:
        state_.AddRateLimited(Key(), {.delay_us = 5}, {}, now_);
        break;
      case 2:
        now_.steady_us += Draw(10);
        state_.FireDue(now_, Draw(3));
        break;
      case 3:
        state_.Remove(Key());
        break;
      case 4:
        state_.Forget(Key());
        state_.Quarantine(Key(), "", now_);
        state_.Release(Key(), 0, now_);
        break;
      case 5:
        state_.CancelDelay(Key());
        break;
      case 6:
      case 7:
        if (const Item* item = state_.Get(0); item != nullptr) {
          held_ = item->key();
        }
        break;
      case 8:
        state_.Done(Key());
        break;
      case 9:
      case 10:
        state_.Done(held_);
        break;
      default:
        state_.Add(Key(), {.lane = lane}, now_.wall_us);
    }
  }

  std::minstd_rand random_;
  std::string held_;  // The key that was handed out last.
  Time now_{.steady_us = 1, .wall_us = 1};
  MutationBatch batch_;
  QueueState state_{1, {.order = Order::kTwoLanes}, &batch_};
  MutationBatch all_;
  LoggedBatch logged_;
  size_t mutations_ = 0;
  size_t written_ = 0;
  std::shared_ptr<storage::MemoryDisk> as_is_disk_ = std::make_shared<storage::MemoryDisk>();
  std::shared_ptr<storage::MemoryDisk> other_disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage as_is_{as_is_disk_};
  storage::MemoryStorage other_{other_disk_};
};

TEST(OpenBatch, LeavesOnDiskWhatTheSameTransitionsLeaveWithoutIt) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  TwoDisks disks(seed);
  for (int write = 0; write < 10'000 && !::testing::Test::HasFailure(); ++write) {
    for (uint32_t steps = disks.Draw(60); steps > 0; --steps) {
      disks.DrawSpace();
      disks.Step();
    }
    disks.Write();
  }
  EXPECT_LT(disks.written(), disks.mutations() * 98 / 100);  // OpenBatch has cancelled some.
}

}  // namespace
}  // namespace wq

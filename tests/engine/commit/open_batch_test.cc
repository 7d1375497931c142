#include "engine/commit/open_batch.h"

#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "engine/state/queue_state.h"
#include "storage/memory_storage.h"

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

TEST(OpenBatch, ANewRowThatIsErasedIsNotWritten) {
  OpenBatch open;
  EXPECT_TRUE(open.Append(7, PutOf("a"), {.is_new = true}));
  EXPECT_TRUE(open.Append(8, PutOf("b"), {.is_new = true}));
  EXPECT_TRUE(open.Append(9, PutOf("c"), {.is_new = true}));
  EXPECT_FALSE(open.Append(10, EraseOf("b"), {.put_at = 8}));
  EXPECT_TRUE(open.Append(10, PutOf("d"), {.is_new = true}));
  EXPECT_FALSE(open.Append(11, EraseOf("d"), {.put_at = 10}));
  EXPECT_EQ(Written(&open), "+a +c");
}

TEST(OpenBatch, IsEmptyWhenEveryRowIsErased) {
  OpenBatch open;
  EXPECT_TRUE(open.Append(1, PutOf("a"), {.is_new = true}));
  EXPECT_FALSE(open.Append(2, EraseOf("a"), {.put_at = 1}));
  EXPECT_TRUE(open.empty());
  EXPECT_TRUE(open.Append(2, PutOf("b"), {}));
  EXPECT_EQ(Written(&open), "+b");
}

TEST(OpenBatch, WritesTheEraseOfARowThatMayNotBeNew) {
  OpenBatch open;
  EXPECT_TRUE(open.Append(7, PutOf("old"), {}));
  EXPECT_TRUE(open.Append(8, EraseOf("old"), {.put_at = 7}));
  EXPECT_TRUE(open.Append(9, EraseOf("written before"), {.put_at = 6}));
  EXPECT_TRUE(open.Append(10, EraseOf("on disk"), {}));
  EXPECT_TRUE(open.Append(11, PutOf("a"), {.is_new = true}));
  EXPECT_TRUE(open.Append(12, EraseOf("another row"), {.put_at = 11}));
  MutationBatch two = PutOf("x");
  two.Append(PutOf("y"));
  EXPECT_TRUE(open.Append(13, two, {.is_new = true}));
  EXPECT_TRUE(open.Append(14, EraseOf("x"), {.put_at = 13}));
  EXPECT_EQ(Written(&open), "+old -old -written before -on disk +a -another row +x +y -x");
}

TEST(OpenBatch, ASecondEraseOfARowIsWritten) {
  OpenBatch open;
  EXPECT_TRUE(open.Append(1, PutOf("a"), {.is_new = true}));
  EXPECT_TRUE(open.Append(2, PutOf("b"), {.is_new = true}));
  EXPECT_FALSE(open.Append(3, EraseOf("a"), {.put_at = 1}));
  EXPECT_TRUE(open.Append(3, EraseOf("a"), {.put_at = 1}));
  EXPECT_EQ(Written(&open), "+b -a");
}

// A queue whose mutations are written to two stores: to one as they are, to the other through an
// OpenBatch.
class TwoDisks {
 public:
  explicit TwoDisks(uint32_t seed) : random_(seed) {}

  void Step() {
    Transition();
    if (batch_.empty()) {
      return;
    }
    all_.Append(batch_);
    if (open_.Append(position_ + 1, batch_, state_.row_change())) {
      ++position_;
    }
    state_.Stamp(position_);
    batch_.Clear();
  }
  void Write() {
    mutations_ += all_.count();
    ASSERT_TRUE(as_is_.Write(all_, false).ok());
    all_.Clear();
    MutationBatch& batch = open_.Close();
    ASSERT_EQ(batch.empty(), open_.empty());
    written_ += batch.count();
    ASSERT_TRUE(other_.Write(batch, false).ok());
    open_.Clear();
    const MutexLock as_is_lock(as_is_disk_->mu);
    const MutexLock other_lock(other_disk_->mu);
    ASSERT_EQ(as_is_disk_->state.families, other_disk_->state.families);
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
        state_.Quarantine(Key(), "", now_.wall_us);
        state_.Release(Key(), now_.wall_us);
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
  OpenBatch open_;
  Position position_ = 0;
  size_t mutations_ = 0;
  size_t written_ = 0;
  std::shared_ptr<storage::MemoryDisk> as_is_disk_ = std::make_shared<storage::MemoryDisk>();
  std::shared_ptr<storage::MemoryDisk> other_disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage as_is_{as_is_disk_};
  storage::MemoryStorage other_{other_disk_};
};

TEST(OpenBatch, LeavesOnDiskWhatTheSameTransitionsLeaveWithoutIt) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  TwoDisks disks(seed);
  for (int write = 0; write < 10'000 && !::testing::Test::HasFailure(); ++write) {
    for (uint32_t steps = disks.Draw(60); steps > 0; --steps) {
      disks.Step();
    }
    disks.Write();
  }
  EXPECT_LT(disks.written(), disks.mutations() * 98 / 100);  // OpenBatch has cancelled some.
}

}  // namespace
}  // namespace wq

// The Mender by itself: attempts that fail after the store was opened anew. tests/engine/mending_test.cc has the rest.
#include "engine/mender.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/journal.h"
#include "storage/memory_storage.h"
#include "wq/clock.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

// Lacks one row of so many bytes, or cannot tell.
class LackingDisk final : public Mender::Target {
 public:
  explicit LackingDisk(storage::Storage* storage) : storage_(storage) {}
  Status Reopen() override { return storage_->Reopen(); }
  Status AppendDifference(storage::MutationBatch* batch) override {
    if (!status.ok()) {
      return status;
    }
    batch->Put(storage::Family::kDirty, "lacking", std::string(bytes, 'v'));
    return {};
  }
  size_t bytes = 1;
  Status status;

 private:
  storage::Storage* const storage_;
};

class MenderTest : public ::testing::Test {
 protected:
  ~MenderTest() override {
    mender_.Stop();
    static_cast<void>(journal_.Stop());
  }
  // A write fails; the disk is back after that.
  void Break() {
    SetFailAfter(0);
    storage::MutationBatch batch;
    batch.Put(storage::Family::kDirty, "key", "v");
    const auto end = journal_.Append(batch, Journal::Urgency::kWaited);
    EXPECT_EQ(journal_.Wait(end, Durability::kProcess).code(), StatusCode::kNotDurable);
    SetFailAfter(UINT64_MAX);
  }
  bool Has(const std::string& key) {
    std::string value;
    return storage_.Get(storage::Family::kDirty, key, &value).ok();
  }

  const std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage_{disk_};
  LackingDisk target_{&storage_};
  ManualClock clock_;
  Journal journal_{&storage_, {.mend = [this] { return mender_.Run(); }}};
  // Only Mend has it try.
  Mender mender_{&target_,
                 &journal_,
                 {.backoff_min = 1h,
                  .backoff_max = 1h,
                  .max_difference_bytes = 1000,
                  .on_health = nullptr,
                  .clock = &clock_}};

 private:
  void SetFailAfter(uint64_t writes) {
    const std::lock_guard lock(disk_->mu);
    disk_->fail_after = writes;
  }
};

TEST_F(MenderTest, ADifferenceThatIsTooLargeIsNotWritten) {
  Break();
  target_.bytes = 2000;
  EXPECT_FALSE(mender_.Mend().ok());
  EXPECT_NE(mender_.Health().message().find("more than one write takes"), std::string::npos)
      << mender_.Health().ToString();
  EXPECT_FALSE(Has("lacking"));
  target_.bytes = 10;
  const Status mended = mender_.Mend();
  EXPECT_TRUE(mended.ok()) << mended.ToString();
  EXPECT_TRUE(Has("lacking"));
}

TEST_F(MenderTest, ADifferenceThatCannotBeToldIsTriedAgain) {
  Break();
  target_.status = Status::IOError("a read that fails");
  EXPECT_FALSE(mender_.Mend().ok());
  EXPECT_FALSE(Has("lacking"));
  target_.status = {};
  const Status mended = mender_.Mend();
  EXPECT_TRUE(mended.ok()) << mended.ToString();
  EXPECT_TRUE(Has("lacking"));
}

TEST_F(MenderTest, ToMendWhatIsWellIsNothing) { EXPECT_TRUE(mender_.Mend().ok()); }

}  // namespace
}  // namespace wq

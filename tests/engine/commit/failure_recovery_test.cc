// FailureRecovery alone: attempts that fail after Reopen. The rest is in
// tests/engine/store/failed_store_test.cc.

#include "engine/commit/failure_recovery.h"

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "engine/commit/journal.h"
#include "tests/support/memory_storage.h"
#include "wq/clock.h"

namespace wq {
namespace {

using namespace std::chrono_literals;

// A disk that lacks one row with a value of `bytes` bytes, or that cannot be read (`status`).
class LackingDisk final : public FailureRecovery::Target {
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

class FailureRecoveryTest : public ::testing::Test {
 protected:
  explicit FailureRecoveryTest(std::chrono::milliseconds backoff = 1h) : backoff_(backoff) {}
  ~FailureRecoveryTest() override {
    recovery_.Stop();
    static_cast<void>(journal_.Stop());
  }
  // One write fails; the disk works again after it.
  void Break() {
    SetFailAfter(0);
    storage::MutationBatch batch;
    batch.Put(storage::Family::kDirty, "key", "v");
    const auto end = journal_.Append(batch, Durability::kProcess);
    EXPECT_EQ(journal_.Wait(end, Durability::kProcess).code(), StatusCode::kNotDurable);
    SetFailAfter(UINT64_MAX);
  }
  bool Has(const std::string& key) {
    std::string value;
    return storage_.Get(storage::Family::kDirty, key, &value).ok();
  }

  const std::chrono::milliseconds backoff_;
  const std::shared_ptr<storage::MemoryDisk> disk_ = std::make_shared<storage::MemoryDisk>();
  storage::MemoryStorage storage_{disk_};
  LackingDisk target_{&storage_};
  ManualClock clock_;
  Journal journal_{&storage_, {.recover = [this] { return recovery_.Run(); }}};
  // Only Recover makes an attempt.
  FailureRecovery recovery_{&target_,
                            &journal_,
                            {.backoff_min = backoff_,
                             .backoff_max = backoff_,
                             .max_difference_bytes = 1000,
                             .on_health = nullptr,
                             .clock = &clock_}};

 private:
  void SetFailAfter(uint64_t writes) {
    const MutexLock lock(disk_->mu);
    disk_->state.fail_after = writes;
  }
};

TEST_F(FailureRecoveryTest, ADifferenceThatIsTooLargeIsNotWritten) {
  Break();
  target_.bytes = 2000;
  EXPECT_FALSE(recovery_.Recover().ok());
  EXPECT_NE(recovery_.Health().message().find("more than one write takes"), std::string::npos)
      << recovery_.Health().ToString();
  EXPECT_FALSE(Has("lacking"));
  target_.bytes = 10;
  const Status recovered = recovery_.Recover();
  EXPECT_TRUE(recovered.ok()) << recovered.ToString();
  EXPECT_TRUE(Has("lacking"));
}

TEST_F(FailureRecoveryTest, AnAttemptWithoutTheOwnershipIsTheLastOne) {
  Break();
  target_.status = Status::NotOwner("another process has the store");
  EXPECT_FALSE(recovery_.Recover().ok());
  target_.status = {};
  EXPECT_FALSE(recovery_.Recover().ok());  // Returns, and has made no attempt.
  EXPECT_FALSE(Has("lacking"));
}

class LongestBackoffTest : public FailureRecoveryTest {
 protected:
  LongestBackoffTest() : FailureRecoveryTest(std::chrono::milliseconds::max()) {}
};

TEST_F(LongestBackoffTest, MeansThatOnlyRecoverMakesAnAttempt) {
  target_.status = Status::IOError("a read that fails");
  Break();
  for (int attempts = 1; attempts <= 3; ++attempts) {
    EXPECT_FALSE(recovery_.Recover().ok());
    const std::string health = recovery_.Health().message();
    EXPECT_NE(health.find("tried to recover " + std::to_string(attempts) + " time"),
              std::string::npos)
        << health;
    EXPECT_EQ(health.find("next attempt in 0 s"), std::string::npos) << health;
  }
  target_.status = {};
  EXPECT_TRUE(recovery_.Recover().ok());
}

}  // namespace
}  // namespace wq

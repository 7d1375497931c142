// Replicated stores in the C interface, by a log in memory.

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/boundary/replicated_log.h"
#include "tests/c/c_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/memory_log.h"

namespace wq::c {
namespace {

constexpr int64_t kPatienceUs = 600'000'000;

// The changes of one replica's ownership, and what calls inside the callback return.
class Changes {
 public:
  struct Change {
    bool owner = false;
    uint64_t epoch = 0;
    std::string why;
  };

  static void Report(void* arg, const wq_leadership* change) {
    auto* const changes = static_cast<Changes*>(arg);
    const std::lock_guard lock(changes->mu_);
    changes->inside_.push_back(wq_store_resign(changes->store_, nullptr));
    changes->inside_.push_back(wq_store_wait_for_leadership(changes->store_, 0, nullptr));
    changes->all_.push_back({change->owner != 0, change->epoch, change->why});
    changes->changed_.notify_all();
  }

  void SetStore(wq_store store) {
    const std::lock_guard lock(mu_);
    store_ = store;
  }
  Change Wait(size_t index) {
    std::unique_lock lock(mu_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::microseconds(kPatienceUs),
                                  [&] { return all_.size() > index; }));
    return all_.size() > index ? all_[index] : Change{};
  }
  std::vector<wq_code> inside() {
    const std::lock_guard lock(mu_);
    return inside_;
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  wq_store store_ = WQ_NO_STORE;
  std::vector<Change> all_;
  std::vector<wq_code> inside_;
};

class ReplicationTest : public testing::Test {
 protected:
  ~ReplicationTest() override {
    for (const wq_store store : stores_) {
      EXPECT_EQ(wq_store_free(store, &error_), WQ_OK) << error_.message;
    }
    wq_bytes_free(&bytes_);
    wq_replicated_log_free(log_);
  }

  wq_replication Options(const char* name) const {
    auto options = Sized<wq_replication>();
    options.log = log_;
    options.name = name;
    options.lease_ms = 60'000;
    return options;
  }
  wq_code TryOpen(const wq_replication* replication, wq_store* store) {
    auto options = Sized<wq_store_options>();
    options.create_if_missing = 1;
    options.replication = replication;
    const std::string dir = dir_ / ("store" + std::to_string(stores_.size()));
    const wq_code code = wq_store_open(dir.c_str(), &options, store, &error_);
    if (code == WQ_OK) {
      stores_.push_back(*store);
    }
    return code;
  }
  wq_store Open(const wq_replication* replication) {
    wq_store store = WQ_NO_STORE;
    EXPECT_EQ(TryOpen(replication, &store), WQ_OK) << error_.message;
    return store;
  }
  wq_code Add(wq_queue queue, const std::string& key, int32_t durability) {
    auto options = Sized<wq_add_options>();
    options.durability = durability;
    return wq_queue_add(queue, key.data(), key.size(), &options, nullptr, &error_);
  }
  uint64_t EpochOf(wq_store store) {
    uint64_t epoch = 99;
    EXPECT_EQ(wq_store_epoch(store, &epoch, &error_), WQ_OK) << error_.message;
    return epoch;
  }
  bool Owns(wq_store store) {
    int32_t owner = 99;
    EXPECT_EQ(wq_store_is_owner(store, &owner, &error_), WQ_OK) << error_.message;
    return owner == 1;
  }

  const support::ScratchDirectory dir_;
  wq_error error_{};
  wq_bytes bytes_ = WQ_NO_BYTES;
  wq_replicated_log* log_ = new wq_replicated_log{std::make_shared<support::MemoryLog>()};
  std::vector<wq_store> stores_;
};

TEST_F(ReplicationTest, TheNextOwnerHasWhatTheFormerOneHasAdded) {
  Changes changes;
  wq_replication options = Options("first");
  options.leadership = Changes::Report;
  options.leadership_arg = &changes;
  const wq_store first = Open(&options);
  changes.SetStore(first);
  ASSERT_EQ(wq_store_wait_for_leadership(first, kPatienceUs, &error_), WQ_OK) << error_.message;
  EXPECT_TRUE(Owns(first));
  const uint64_t epoch = EpochOf(first);
  EXPECT_GT(epoch, 0U);
  const Changes::Change began = changes.Wait(0);
  EXPECT_TRUE(began.owner);
  EXPECT_EQ(began.epoch, epoch);
  EXPECT_EQ(began.why, "");
  wq_queue queue = WQ_NO_QUEUE;
  ASSERT_EQ(wq_store_open_queue(first, "q", nullptr, &queue, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(Add(queue, "a", WQ_REPLICATED), WQ_OK) << error_.message;
  EXPECT_EQ(Add(queue, "b", WQ_PROCESS), WQ_OK) << error_.message;
  EXPECT_EQ(wq_store_flush(first, WQ_REPLICATED, &error_), WQ_OK) << error_.message;

  options = Options("second");
  const wq_store second = Open(&options);
  EXPECT_FALSE(Owns(second));
  EXPECT_EQ(EpochOf(second), 0U);
  wq_queue refused = WQ_NO_QUEUE;
  EXPECT_EQ(wq_store_open_queue(second, "q", nullptr, &refused, &error_), WQ_NOT_OWNER);
  EXPECT_EQ(wq_store_delete_queue(second, "q", &error_), WQ_NOT_OWNER);
  EXPECT_EQ(wq_store_wait_for_leadership(second, 1000, &error_), WQ_TIMED_OUT);

  ASSERT_EQ(wq_store_resign(first, &error_), WQ_OK) << error_.message;
  const Changes::Change ended = changes.Wait(1);
  EXPECT_FALSE(ended.owner);
  EXPECT_EQ(ended.epoch, epoch);
  EXPECT_NE(ended.why, "");
  for (const wq_code code : changes.inside()) {
    // BadHandle: before SetStore.
    EXPECT_TRUE(code == WQ_INVALID_ARGUMENT || code == WQ_BAD_HANDLE) << wq_code_name(code);
  }
  EXPECT_EQ(Add(queue, "c", WQ_DEFAULT_DURABILITY), WQ_NOT_OWNER);
  EXPECT_EQ(wq_queue_get(queue, 0, &bytes_, &error_), WQ_NOT_OWNER);
  EXPECT_EQ(wq_store_resign(first, &error_), WQ_NOT_OWNER);

  ASSERT_EQ(wq_store_wait_for_leadership(second, kPatienceUs, &error_), WQ_OK) << error_.message;
  EXPECT_GT(EpochOf(second), epoch);
  auto state = Sized<wq_replica_state>();
  ASSERT_EQ(wq_store_replica(second, &state, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(state.owner, 1);
  EXPECT_EQ(state.epoch, EpochOf(second));
  EXPECT_STREQ(state.owner_name, "second");
  EXPECT_GT(state.applied, 0U);
  EXPECT_EQ(state.log.code, WQ_OK) << state.log.message;
  ASSERT_EQ(wq_store_open_queue(second, "q", nullptr, &queue, &error_), WQ_OK) << error_.message;
  for (const char* const key : {"a", "b"}) {
    ASSERT_EQ(wq_queue_get(queue, 0, &bytes_, &error_), WQ_OK) << error_.message;
    EXPECT_EQ(std::string(bytes_.data, bytes_.size), key);
  }
}

TEST_F(ReplicationTest, ACloseEndsTheWaitOfAFollower) {
  wq_replication options = Options("follower");
  options.never_owner = 1;
  const wq_store store = Open(&options);
  EXPECT_EQ(wq_store_wait_for_leadership(store, 1000, &error_), WQ_TIMED_OUT);
  ASSERT_EQ(wq_store_close(store, &error_), WQ_OK) << error_.message;
  EXPECT_EQ(wq_store_wait_for_leadership(store, -1, &error_), WQ_SHUTTING_DOWN);
}

TEST_F(ReplicationTest, MisuseIsRefused) {
  wq_replicated_log_free(nullptr);
  wq_store store = WQ_NO_STORE;
  wq_replication options = Options("r");
  options.log = nullptr;
  EXPECT_EQ(TryOpen(&options, &store), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.replication.log is NULL");
  options = Options(nullptr);
  EXPECT_EQ(TryOpen(&options, &store), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "options.replication.name is NULL");
  options = Options("r");
  options.size = 3;
  EXPECT_EQ(TryOpen(&options, &store), WQ_INVALID_ARGUMENT);

  store = Open(nullptr);
  EXPECT_EQ(wq_store_is_owner(store, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_epoch(store, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_replica(store, nullptr, &error_), WQ_INVALID_ARGUMENT);
  wq_replica_state state{};
  EXPECT_EQ(wq_store_replica(store, &state, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_flush(store, WQ_REPLICATED + 1, &error_), WQ_INVALID_ARGUMENT);
  const wq_store none = WQ_NO_STORE;
  int32_t owner = 0;
  uint64_t epoch = 0;
  state.size = sizeof state;
  EXPECT_EQ(wq_store_is_owner(none, &owner, &error_), WQ_BAD_HANDLE);
  EXPECT_EQ(wq_store_epoch(none, &epoch, &error_), WQ_BAD_HANDLE);
  EXPECT_EQ(wq_store_replica(none, &state, &error_), WQ_BAD_HANDLE);
  EXPECT_EQ(wq_store_wait_for_leadership(none, 0, &error_), WQ_BAD_HANDLE);
  EXPECT_EQ(wq_store_resign(none, &error_), WQ_BAD_HANDLE);
}

TEST(Codes, EachHasItsName) {
  EXPECT_STREQ(wq_code_name(WQ_NOT_SUPPORTED), "NotSupported");
  EXPECT_STREQ(wq_code_name(WQ_NOT_OWNER), "NotOwner");
  EXPECT_STREQ(wq_code_name(WQ_FULL), "Full");
  EXPECT_STREQ(wq_code_name(WQ_UNAUTHENTICATED), "Unauthenticated");
  EXPECT_STREQ(wq_code_name(WQ_UNAUTHENTICATED + 1), "?");
}

}  // namespace
}  // namespace wq::c

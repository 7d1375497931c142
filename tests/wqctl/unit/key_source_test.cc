// A run on a store that fails for a time: it begins nothing, ends by a signal only, and loses no
// key.

#include "tools/wqctl/work/key_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wq/store.h"

namespace wqctl {
namespace {

class KeySourceTest : public ::testing::Test {
 protected:
  KeySourceTest() {
    EXPECT_TRUE(wq::Store::OpenInMemory({}, &store_).ok());
    EXPECT_TRUE(store_->OpenQueue("q", {}, &queue_).ok());
    for (const char* key : {"a", "b"}) EXPECT_TRUE(queue_->Add(key).ok());
    LocalQueueOptions options;
    options.take_token = [this](uint64_t* token) {
      *token = 1;
      return take_token_;
    };
    options.health = [this] { return Next(); };
    options.on_ready = [] {};
    queues_ = {MakeLocalQueue(queue_, std::move(options))};
    source_.SetQueues(queues_);
  }
  ~KeySourceTest() override { source_.Clear(); }

  // The statuses of reopen_ in turn, then Ok; each after half of the time that it is repeated.
  wq::Status Reopen(WorkQueues* queues, bool* again) {
    take_token_ = {};
    now_ += std::chrono::seconds{30};
    *again = true;
    if (reopen_.empty()) {
      *queues = queues_;
      return {};
    }
    wq::Status s = reopen_.front();
    reopen_.erase(reopen_.begin());
    return s;
  }

  // The statuses of health_ in turn; the last one stays.
  wq::Status Next() {
    wq::Status s = health_.front();
    if (health_.size() > 1) health_.erase(health_.begin());
    if (s.ok()) take_token_ = {};
    return s;
  }

  const wq::Status failed_ = wq::Status::NotDurable("no space");
  std::unique_ptr<wq::Store> store_;
  wq::Queue* queue_ = nullptr;
  wq::Status take_token_;
  WorkQueues queues_;
  std::vector<wq::Status> reopen_;
  std::vector<wq::Status> health_ = {{}};
  std::vector<std::string> said_;
  bool stop_ = false;  // As soon as the store is waited for.
  std::chrono::steady_clock::time_point now_;
  KeySource source_{
      {.reopen = [this](WorkQueues* queues, bool* again) { return Reopen(queues, again); },
       .on_health =
           [this](const wq::Status& s) {
             said_.push_back(s.ToString());
             if (stop_) source_.Stop();
           },
       .now = [this] { return now_; }}};
};

TEST_F(KeySourceTest, AFailedStoreIsWaitedForAndSaidOnce) {
  health_ = {failed_, failed_, failed_, {}};
  source_.NoteStoreFailed();
  Job job;
  ASSERT_TRUE(source_.Next(&job));
  EXPECT_EQ(job.key, "a");
  EXPECT_THAT(said_, ::testing::ElementsAre("NotDurable: no space", "Ok"));
  source_.NoteStoreFailed();  // It has recovered before anyone looked.
  source_.End(job);
  ASSERT_TRUE(source_.Next(&job));
  EXPECT_EQ(said_.size(), 2U);
}

TEST_F(KeySourceTest, AQueueThatHasEndedIsOpenedAgain) {
  const wq::Status locked = wq::Status::Locked("another tries, or it serves nothing");
  const struct {
    std::vector<wq::Status> reopen;
    size_t said;
    bool next;
  } kCases[] = {{{failed_, failed_}, 2, true},  // It is waited for, and said once.
                // A worker that tries has the lock for a moment, in which another may find it.
                {{locked, failed_, locked, failed_, locked, failed_}, 2, true},
                {{failed_, locked, locked}, 1, false}};  // Its owner serves nothing.
  for (const auto& [reopen, said, next] : kCases) {
    for (const char* key : {"lost", "taken"}) {  // The first one with its owner.
      EXPECT_TRUE(queue_->Add(key + std::to_string(reopen.size())).ok());
    }
    take_token_ = wq::Status::ShuttingDown("its owner has ended");
    reopen_ = reopen;
    said_.clear();
    Job job;
    ASSERT_EQ(source_.Next(&job), next) << source_.error().ToString();
    EXPECT_EQ(said_.size(), said);
    if (next) source_.End(job);
  }
  EXPECT_EQ(source_.error().code(), wq::StatusCode::kLocked);
}

TEST_F(KeySourceTest, AStopEndsTheWait) {
  stop_ = true;
  health_ = {failed_};
  source_.NoteStoreFailed();
  Job job;
  EXPECT_FALSE(source_.Next(&job));
  EXPECT_EQ(queue_->Counts().queued, 2U);
}

TEST_F(KeySourceTest, AKeyWithoutATokenIsGivenBack) {
  take_token_ = failed_;
  health_ = {failed_, {}};
  Job job;
  ASSERT_TRUE(source_.Next(&job));
  EXPECT_EQ(job.key, "a") << "it has kept its place";
  EXPECT_EQ(queue_->Counts().processing, 1U);
}

TEST_F(KeySourceTest, NoRunEndsByItselfWhileItsStoreHasFailed) {
  health_ = {failed_, failed_, {}};
  Job job;
  for (const char* key : {"a", "b"}) {
    ASSERT_TRUE(source_.Next(&job));
    TakenKey taken;
    taken.key = key;
    EXPECT_TRUE(job.queue->Succeed(taken).ok());
    source_.End(job);
  }
  EXPECT_FALSE(source_.Next(&job));
  EXPECT_EQ(said_.size(), 2U);
  EXPECT_TRUE(source_.error().ok());
}

}  // namespace
}  // namespace wqctl

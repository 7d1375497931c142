// Histories that are torn, damaged, of a killed process, or on a disk that fails. WQ_SEED
// is the seed.

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>

#include "base/file_calls.h"
#include "tests/history/fixture.h"
#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/files.h"

namespace wq {
namespace {

class HistoryDamageTest : public HistoryTest {
 protected:
  // Three blocks of events of 20 keys.
  void Fill() {
    Open();
    for (int block = 0; block < 3; ++block) {
      for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(queue_->Add("key-" + std::to_string(i)).ok());
        ASSERT_FALSE(Get().empty());
        ASSERT_TRUE(queue_->Done("key-" + std::to_string(i)).ok());
      }
      EXPECT_EQ(Of("key-7").events.size(), static_cast<size_t>(3 * (block + 1)));
    }
    Close();
  }
  // What can be read is whole blocks from the beginning.
  void ExpectAPrefix() {
    const std::string kinds = KindsOf(OfFiles("key-7"));
    EXPECT_TRUE(kinds.empty() || kinds == "1 4 5" || kinds == "1 4 5 1 4 5" ||
                kinds == "1 4 5 1 4 5 1 4 5")
        << kinds;
    EXPECT_TRUE(OfFiles("other").events.empty());
  }
};

TEST_F(HistoryDamageTest, ATornOrChangedSegmentShowsNothingWrong) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("replay with WQ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Fill();
  ASSERT_EQ(Segments().size(), 1U);
  const std::string path = Segments().front();
  const std::string whole = support::ReadFile(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    support::WriteFile(path, whole.substr(0, size));
    ExpectAPrefix();
  }
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    support::WriteFile(path, damaged);
    ExpectAPrefix();
  }
  support::WriteFile(path, whole.substr(0, whole.size() - 1));
  Open();  // Writes a segment of its own.
  ASSERT_TRUE(queue_->AddAfter("key-7", std::chrono::seconds(1)).ok());
  EXPECT_EQ(KindsOf(Of("key-7")), "1 4 5 1 4 5 3");
  EXPECT_EQ(Segments().size(), 2U);
}

// Run by the next test, which kills it. Adds a key, waits until it is in the history, and works on.
TEST(HistoryChild, DISABLED_AddsUntilItIsKilled) {
  StoreOptions options{.create_if_missing = true, .history_bytes = size_t{8} << 20};
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  KeyHistory history;
  Status s = Store::Open(options, std::getenv("WQ_TEST_DIR"), &store);
  if (s.ok()) s = store->OpenQueue("q", {}, &queue);
  if (s.ok()) s = queue->Add("flushed");
  if (s.ok()) s = store->History("q", "flushed", 0, &history);
  std::cout << (s.ok() ? "flushed" : s.ToString()) << std::endl;
  for (uint64_t i = 0; s.ok() && i < 20'000; ++i) {  // With more the history would lose the first.
    s = queue->Add("key-" + std::to_string(i % 1000));
  }
  for (; s.ok();) pause();
}

TEST_F(HistoryDamageTest, AKilledProcessLeavesWhatItHasWritten) {
  setenv("WQ_TEST_DIR", dir().c_str(), 1);
  support::Child child(
      {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=HistoryChild.*"});
  ASSERT_TRUE(child.ReadUntil("flushed"));
  EXPECT_EQ(KindsOf(OfFiles("flushed")), "1");  // Beside the owner.
  EXPECT_EQ(KindsOf(OfFiles("flushed")), "1");
  child.Signal(SIGKILL);
  child.Wait();
  EXPECT_EQ(KindsOf(OfFiles("flushed")), "1");
  Open();
  EXPECT_EQ(Get(), "flushed");
  EXPECT_EQ(KindsOf(Of("flushed")), "1 4");
  EXPECT_GE(Segments().size(), 2U);
}

// A disk that has no space for a history.
class FullForHistory final : public FileCalls {
 public:
  ssize_t Write(int fd, const std::string& path, std::string_view bytes) override {
    if (path.find("/history/") == std::string::npos) return FileCalls::Write(fd, path, bytes);
    errno = ENOSPC;
    return -1;
  }
};

TEST_F(HistoryDamageTest, AFullDiskEndsTheRecordingAndNothingElse) {
  FullForHistory disk;
  UseFileCalls(&disk);
  Open();
  ASSERT_TRUE(queue_->Add("k").ok());
  const KeyHistory history = Of("k");
  EXPECT_EQ(history.recording.code(), StatusCode::kIOError) << history.recording.ToString();
  ASSERT_TRUE(queue_->Add("another").ok());
  EXPECT_TRUE(store_->Health().ok());
  Close();
  UseFileCalls(nullptr);
  Open();
  EXPECT_EQ(queue_->Len(), 2U);
}

}  // namespace
}  // namespace wq

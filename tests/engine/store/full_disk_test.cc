// Recovery of a failed store on RocksDB: the kernel limits the size of files, and then does not.

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

void LetFilesGrowTo(rlim_t bytes) {
  struct rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

std::string KeyOf(int i) { return std::to_string(i) + std::string(1000, 'x'); }

// Adds keys from `*next` on until a call returns `until`. False: 10'000 calls did not.
bool AddUntil(StatusCode until, Queue* queue, int* next) {
  for (int tries = 0; tries < 10'000; ++tries) {
    if (queue->Add(KeyOf((*next)++)).code() == until) {
      return true;
    }
  }
  return false;
}

// The child: never returns, and closes nothing. Its exit code names the first step that failed.
[[noreturn]] void FillAndRecover(const std::string& dir) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  StoreOptions options{.create_if_missing = true};
  options.recovery_backoff_min = std::chrono::hours(1);
  if (!Store::Open(options, dir, &store).ok() || !store->OpenQueue("q", {}, &queue).ok()) {
    _exit(10);
  }
  int keys = 0;
  LetFilesGrowTo(rlim_t{300} << 10);
  if (!AddUntil(StatusCode::kNotDurable, queue, &keys)) {
    _exit(11);
  }
  LetFilesGrowTo(1);
  if (store->Recover().code() != StatusCode::kNotDurable ||
      queue->Add(KeyOf(keys++)).code() != StatusCode::kNotDurable || store->Health().ok()) {
    _exit(12);
  }
  LetFilesGrowTo(RLIM_INFINITY);
  if (!store->Recover().ok() || !store->Health().ok()) {
    _exit(13);
  }
  if (!queue->Add("last").ok() || queue->Len() != static_cast<size_t>(keys) + 1) {
    _exit(14);
  }
  _exit(0);
}

TEST(FullDisk, IsRecoveredOnceFilesMayGrowAgain) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // The child is exec'd.
  // The child runs this function, too. The variable has the directory of its parent.
  constexpr const char* kDir = "WQ_FULL_DISK_TEST_DIR";
  std::optional<support::ScratchDirectory> made;
  if (std::getenv(kDir) == nullptr) {
    ASSERT_EQ(setenv(kDir, made.emplace().path().c_str(), 1), 0);
  }
  const std::string dir = std::getenv(kDir);
  const std::string path = dir + "/store";
  EXPECT_EXIT(FillAndRecover(path), testing::ExitedWithCode(0), "");
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  const Status opened = Store::Open({}, path, &store);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  ASSERT_TRUE(store->OpenQueue("q", {}, &queue).ok());
  const std::vector<QueuedKey> keys = queue->List(0, SIZE_MAX);
  ASSERT_GT(keys.size(), 100U);
  for (size_t i = 0; i + 1 < keys.size(); ++i) {
    ASSERT_EQ(keys[i].key, KeyOf(static_cast<int>(i)));
  }
  EXPECT_EQ(keys.back().key, "last");
  store.reset();
  unsetenv(kDir);
}

}  // namespace
}  // namespace wq

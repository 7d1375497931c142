// An owner that runs out of memory: at worst it ends as by kill -9, so nothing that was
// acknowledged is lost.
//
// WQ_SEED is the seed; WQ_MEMORY_ROUNDS the number of processes.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::support {
namespace {

// From now on this process may take so many bytes of addresses more. False: that cannot be set.
bool LimitMemory(rlim_t spare_bytes) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;  // Of the address space.
  rlimit limit = {};
  if (pages == 0 || getrlimit(RLIMIT_AS, &limit) != 0) return false;
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + spare_bytes;
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

// Run by the next test. Adds keys until it has no memory left, and prints the number of each
// acknowledged one. Ends with status 3 at the first error (4: an exception, which would leave a
// change half made), without closing the store, or as the lack of memory ends it.
TEST(MemoryChild, DISABLED_AddsUntilItHasNoMemory) {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  Status s = Store::Open({.create_if_missing = true}, std::getenv("WQ_TEST_DIR"), &store);
  if (s.ok()) s = store->OpenQueue("q", {}, &queue);
  const std::string rest(FromEnvironment("WQ_TEST_KEY_BYTES", 0), 'k');
  if (!s.ok() || !LimitMemory(FromEnvironment("WQ_TEST_SPARE_BYTES", 0))) _exit(2);
  for (int i = 0;; ++i) {
    const std::string number = std::to_string(i);
    try {
      if (!queue->Add(number + ":" + rest).ok()) _exit(3);
    } catch (...) {
      _exit(4);
    }
    const std::string line = "acknowledged " + number + "\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(0);  // The parent has ended.
  }
}

TEST(MemoryTest, AnOwnerWithoutMemoryLosesNothingThatWasAcknowledged) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more addresses than the limit leaves";
#endif
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_MEMORY_ROUNDS", 5);
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  for (uint64_t round = 0; round < rounds; ++round) {
    const ScratchDirectory root;
    const uint64_t spare_bytes = (size_t{4} << 20) + random() % (size_t{16} << 20);
    // Not the short ones: there would be too many of them.
    const uint64_t key_bytes = 300 + DrawSize(&random, 3700);
    setenv("WQ_TEST_DIR", (root / "store").c_str(), 1);
    setenv("WQ_TEST_SPARE_BYTES", std::to_string(spare_bytes).c_str(), 1);
    setenv("WQ_TEST_KEY_BYTES", std::to_string(key_bytes).c_str(), 1);
    Child child(
        {"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=MemoryChild.*"});
    const int status = child.Wait();
    SCOPED_TRACE("status " + std::to_string(status) + ", " + std::to_string(spare_bytes) +
                 " bytes, keys of " + std::to_string(key_bytes));
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) != 2);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 4) << "Add threw";

    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Status opened = Store::Open({}, root / "store", &store);
    if (opened.ok()) {
      opened = store->OpenQueue("q", {}, &queue);
    }
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    std::set<std::string> found;
    ASSERT_TRUE(queue
                    ->Scan([&found](const KeyInfo& key) {
                      found.emplace(key.key.substr(0, key.key.find(':')));
                      return true;
                    })
                    .ok());
    std::istringstream acknowledged(child.output());
    size_t count = 0;
    for (std::string word, number; acknowledged >> word;) {
      if (word != "acknowledged" || !(acknowledged >> number)) continue;
      EXPECT_TRUE(found.contains(number)) << "key " << number << " is lost";
      ++count;
    }
    EXPECT_GT(count, 100U);
    std::cout << count << " acknowledged keys, then status " << status << "\n";
  }
}

}  // namespace
}  // namespace wq::support

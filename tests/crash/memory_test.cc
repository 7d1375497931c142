// An owner that runs out of memory: at worst it ends as by kill -9, so nothing that was
// acknowledged is lost.
//
// WQ_SEED is the seed; WQ_MEMORY_ROUNDS the number of processes.

#include <sys/wait.h>

#include <chrono>
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
    Child child({support::ProgramBesideThis("memory_child"), root / "store",
                 std::to_string(spare_bytes), std::to_string(key_bytes)});
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
    for (std::string number; std::getline(acknowledged, number); ++count) {
      EXPECT_TRUE(found.contains(number)) << "key " << number << " is lost";
    }
    EXPECT_GT(count, 100U);
    std::cout << count << " acknowledged keys, then status " << status << "\n";
  }
}

}  // namespace
}  // namespace wq::support

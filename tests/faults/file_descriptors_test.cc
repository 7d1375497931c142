// An owner that runs out of file descriptors: calls return NotDurable, the process does not end,
// and the store recovers when descriptors are free again. Nothing acknowledged is lost.
//
//   WQ_SEED is the seed; WQ_DESCRIPTOR_ROUNDS the number of times that descriptors run out.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::support {
namespace {

constexpr rlim_t kLimit = 200;

// Takes all descriptors but `spare`, until the destructor.
class TakenDescriptors {
 public:
  explicit TakenDescriptors(size_t spare) {
    for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = dup(fd)) taken_.push_back(fd);
    for (; spare > 0 && !taken_.empty(); --spare, taken_.pop_back()) close(taken_.back());
  }
  ~TakenDescriptors() {
    for (const int fd : taken_) close(fd);
  }
  TakenDescriptors(const TakenDescriptors&) = delete;
  TakenDescriptors& operator=(const TakenDescriptors&) = delete;

 private:
  std::vector<int> taken_;
};

class FileDescriptorsTest : public ::testing::Test {
 protected:
  FileDescriptorsTest() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit = {kLimit, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
    alarm(600);  // Ends a test that hangs.
  }
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizers check a pointer by a pipe, and report an error without one";
#endif
  }
  ~FileDescriptorsTest() override {
    alarm(0);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

  const ScratchDirectory root_;

 private:
  rlimit before_ = {};
};

struct Adds {
  const char* name;
  Durability durability;
  size_t process_log_bytes;
};

void PrintTo(const Adds& adds, std::ostream* out) { *out << adds.name; }

class OftenWithoutDescriptorsTest : public FileDescriptorsTest,
                                    public ::testing::WithParamInterface<Adds> {};

TEST_P(OftenWithoutDescriptorsTest, TheStoreRecovers) {
  const uint64_t seed = support::Seed();
  const uint64_t rounds = FromEnvironment("WQ_DESCRIPTOR_ROUNDS", 12);
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  const StoreOptions options = {.create_if_missing = true,
                                .write_buffer_bytes = size_t{64} << 10,
                                .process_log_bytes = GetParam().process_log_bytes,
                                .recovery_backoff_min = std::chrono::milliseconds(1),
                                .recovery_backoff_max = std::chrono::milliseconds(500)};
  std::unique_ptr<Store> store;
  Status status = Store::Open(options, root_ / "store", &store);
  Queue* queue = nullptr;
  if (status.ok()) status = store->OpenQueue("q", {}, &queue);
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::set<std::string> added;
  uint64_t failures = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    {
      // They run out at any instant of a write or of an attempt to recover.
      std::atomic<bool> stop = false;
      std::atomic<uint64_t> calls = 0;
      std::thread taker([&stop, &calls, own = std::mt19937_64(random())]() mutable {
        while (!stop) {
          const TakenDescriptors taken(own() % (own() % 2 == 0 ? 3 : 40));
          const uint64_t until = calls + own() % 60;
          for (uint64_t seen = calls; seen < until && !stop; seen = calls) calls.wait(seen);
        }
      });
      for (uint64_t n = 100 + random() % 900; n > 0; --n) {
        const std::string key =
            std::to_string(random() % 5000) + std::string(DrawSize(&random, 2000), 'k');
        status = queue->Add(key, {.durability = GetParam().durability});
        ++calls;
        calls.notify_one();
        if (status.ok()) {
          added.insert(key);
        } else {
          ASSERT_EQ(status.code(), StatusCode::kNotDurable) << status.ToString();
          ++failures;
          if (failures % 50 == 0) static_cast<void>(store->Recover());
        }
      }
      stop = true;
      ++calls;
      calls.notify_one();
      taker.join();
    }
    status = store->Recover();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  std::cout << "total: " << failures << " calls were not durable\n";
  EXPECT_GT(failures, 0U);
  store.reset();  // As if the process had ended.
  status = Store::Open(options, root_ / "store", &store);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_TRUE(store->OpenQueue("q", {}, &queue).ok());
  std::string key;
  while (queue->GetFor(std::chrono::milliseconds(0), &key).ok()) {
    added.erase(key);
    ASSERT_TRUE(queue->Done(key).ok());
  }
  EXPECT_TRUE(added.empty()) << added.size() << " acknowledged keys are missing";
}

// With a log in which many Adds fit, only those at kPower write at once.
INSTANTIATE_TEST_SUITE_P(Adds, OftenWithoutDescriptorsTest,
                         ::testing::Values(Adds{"WithoutLog", Durability::kProcess, 0},
                                           Adds{"WithASmallLog", Durability::kProcess,
                                                size_t{8} << 10},
                                           Adds{"WithALog", Durability::kPower, size_t{8} << 20}),
                         [](const auto& info) { return std::string(info.param.name); });

// RocksDB counts a reference to a column family too many if two families are to be flushed and no
// log can be made, and then aborts when the failed database is closed.
TEST_F(FileDescriptorsTest, TwoFullFamiliesAndNoNewLogFailTheStoreAndItRecovers) {
  std::unique_ptr<Store> store;
  Status status = Store::Open({.create_if_missing = true,
                               .write_buffer_bytes = size_t{64} << 10,
                               .recovery_backoff_min = std::chrono::minutes(10),
                               .recovery_backoff_max = std::chrono::minutes(10)},
                              root_ / "store", &store);
  Queue* queue = nullptr;
  if (status.ok()) status = store->OpenQueue("q", {.durability = Durability::kAsync}, &queue);
  ASSERT_TRUE(status.ok()) << status.ToString();
  {
    const TakenDescriptors taken(0);
    for (int round = 0; round < 10; ++round) {
      for (int n = 0; n < 200; ++n) {
        const std::string key = std::to_string(round * 200 + n) + std::string(1000, 'k');
        static_cast<void>(queue->AddAfter(key + "d", std::chrono::hours(1)));
        static_cast<void>(queue->Add(key));
      }
      status = store->Flush(Durability::kPower);
    }
    EXPECT_EQ(status.code(), StatusCode::kNotDurable) << status.ToString();
  }
  status = store->Recover();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(store->Close().ok());
}

}  // namespace
}  // namespace wq::support

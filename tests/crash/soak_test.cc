// A store under long churn over few keys, always the same. Its process is killed and started again,
// or runs without a kill. Memory, descriptors, log, tables and LOG are sampled while it runs, and
// must stay bounded.
//
// WQ_SOAK_SECONDS is the time that each test takes (4). WQ_SEED is the seed.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wq::support {
namespace {

using std::chrono::steady_clock;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// The resources of a process and its store at one instant.
struct Usage {
  uint64_t memory = 0;  // Resident bytes.
  uint64_t descriptors = 0;
  uint64_t log = 0;  // Bytes of *.log; the next members likewise.
  uint64_t tables = 0;
  uint64_t manifests = 0;
  uint64_t process_logs = 0;
  uint64_t messages = 0;  // LOG*.
  uint64_t files = 0;
};

Usage Measure(pid_t pid, const std::string& dir) {
  Usage usage;
  const std::string proc = "/proc/" + std::to_string(pid);
  uint64_t ignored = 0;
  std::ifstream(proc + "/statm") >> ignored >> usage.memory;
  usage.memory *= static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code removed;  // Files are created and removed during the scan.
  for (auto it = std::filesystem::directory_iterator(proc + "/fd", removed);
       it != std::filesystem::directory_iterator(); it.increment(removed)) {
    ++usage.descriptors;
  }
  for (auto it = std::filesystem::directory_iterator(dir, removed);
       it != std::filesystem::directory_iterator(); it.increment(removed)) {
    const std::string name = it->path().filename();
    std::error_code vanished;
    const uint64_t size = it->file_size(vanished);
    if (vanished) {
      continue;
    }
    ++usage.files;
    (name.ends_with(".log")          ? usage.log
     : name.ends_with(".sst")        ? usage.tables
     : name.starts_with("MANIFEST-") ? usage.manifests
     : name.ends_with(".ring")       ? usage.process_logs
                                     : usage.messages) += size;
  }
  return usage;
}

class SoakTest : public ::testing::Test {
 protected:
  SoakTest() {
    std::cout << "replay with WQ_SEED=" << seed_ << " WQ_SOAK_SECONDS=" << seconds_ << "\n";
  }

  void Start() {
    setenv("WQ_TEST_DIR", dir_.c_str(), 1);
    setenv("WQ_TEST_SEED", std::to_string(random_()).c_str(), 1);
    child_.emplace(std::vector<std::string>{"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                            "--gtest_filter=SoakChild.*"});
    ASSERT_TRUE(child_->ReadUntil("n\n"));  // Behind what the framework says.
    child_->ForgetOutput();
  }
  // Watches the child until it has reported `reports` times, or the time is over.
  void Watch(uint64_t reports) {
    for (uint64_t seen = 0; seen < reports && !Over();) {
      const size_t before = child_->output().size();
      ASSERT_TRUE(child_->Read(std::chrono::seconds(10))) << "the child ended by itself";
      seen += (child_->output().size() - before) / 2;
      calls_ += 1000 * ((child_->output().size() - before) / 2);
      child_->ForgetOutput();
      if (steady_clock::now() >= next_sample_) {
        next_sample_ = steady_clock::now() + std::chrono::milliseconds(20) + Elapsed() / 2000;
        samples_.push_back(Measure(child_->pid(), dir_));
        Check(samples_.back());
      }
    }
  }
  // The buffers are 7 families of 256 KiB, the log 1 MiB, the live data below 2 MiB.
  void Check(const Usage& usage) {
    EXPECT_LT(usage.memory, 64 * kMiB * Sanitized());
    EXPECT_LT(usage.descriptors, 400U);
    EXPECT_LT(usage.log, 8 * kMiB);
    EXPECT_LT(usage.tables, 48 * kMiB);
    EXPECT_LT(usage.manifests, 12 * kMiB);
    // 8 MiB each: the owner's, during its opening the last owner's, and that of a killed opening.
    EXPECT_LT(usage.process_logs, 25 * kMiB);
    EXPECT_LT(usage.messages, 3 * kMiB);
    EXPECT_LT(usage.files, 300U);
  }
  // The factor for the memory of a sanitizer: its shadow and its quarantine.
  static uint64_t Sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 20;
#else
    return 1;
#endif
  }
  std::chrono::nanoseconds Elapsed() const { return steady_clock::now() - begun_; }
  bool Over() const { return Elapsed() >= std::chrono::seconds(seconds_); }

  const uint64_t seed_ = support::Seed();
  const uint64_t seconds_ = FromEnvironment("WQ_SOAK_SECONDS", 4);
  const steady_clock::time_point begun_ = steady_clock::now();
  std::mt19937_64 random_{seed_};
  ScratchDirectory root_;
  std::optional<Child> child_;
  const std::string dir_ = root_ / "store";
  steady_clock::time_point next_sample_ = begun_;
  std::vector<Usage> samples_;
  uint64_t calls_ = 0;
};

constexpr uint64_t kKeys = 5000;

Status Churn(Queue* queue, std::mt19937_64* random) {
  using std::chrono::milliseconds;
  const uint64_t number = (*random)() % kKeys;
  // One in 100 is long.
  const std::string key =
      KeyOf(number, number % 100 == 0 ? size_t{4096} >> (number / 100 % 12) : 1);
  switch ((*random)() % 10) {
    case 0:
      return queue->AddAfter(key, milliseconds((*random)() % 2000));
    case 1:
      return queue->AddRateLimited(key, "an error of the usual length, with a cause in it");
    case 2:
      return queue->Forget(key);
    case 3:
    case 4:
    case 5:
      return queue->Add(key, {.lane = (*random)() % 2 == 0 ? kFastLane : kSlowLane});
    default: {
      std::string held;
      Status s = queue->GetFor(milliseconds(0), &held);
      return s.ok() ? queue->Done(held) : s.code() == StatusCode::kTimedOut ? Status::Ok() : s;
    }
  }
}

// Run by the next tests, which measure and kill it. It adds, gets, fails and forgets keys of a
// fixed set, as fast as it can, and reports a line for every 1000 calls.
TEST(SoakChild, DISABLED_ChurnsUntilItIsKilled) {
  std::mt19937_64 random(FromEnvironment("WQ_TEST_SEED", 0));
  const StoreOptions options = {.create_if_missing = true,
                                .max_wal_bytes = size_t{1} << 20,
                                .write_buffer_bytes = size_t{256} << 10};
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  Status s = Store::Open(options, std::getenv("WQ_TEST_DIR"), &store);
  if (s.ok()) {
    s = store->OpenQueue(
        "q",
        {.order = Order::kTwoLanes, .max_requeues = 5, .quarantined_add = QuarantinedAdd::kRelease},
        &queue);
  }
  for (uint64_t calls = 1; s.ok(); ++calls) {
    s = Churn(queue, &random);
    if (calls % 1000 == 0 && write(STDOUT_FILENO, "n\n", 2) != 2) _exit(0);  // No parent.
  }
  std::cerr << s.ToString() << "\n";
}

TEST_F(SoakTest, ChurnWithKillsStaysBounded) {
  uint64_t kills = 0;
  for (; !Over() && !HasFailure(); ++kills) {
    Start();
    Watch(1 + random_() % 60);
    child_->Signal(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child_->Wait()));
  }
  std::unique_ptr<StoreView> view;
  const Status s = StoreView::Open(dir_, &view);
  EXPECT_TRUE(s.ok()) << s.ToString();
  std::cout << "total: " << calls_ << " calls, " << kills << " kills\n";
  EXPECT_GT(kills, 1U);
  EXPECT_GT(samples_.size(), 5U);
}

TEST_F(SoakTest, AProcessLeftAloneStaysBounded) {
  Start();
  Watch(UINT64_MAX);
  EXPECT_GT(samples_.size(), 5U);
}

}  // namespace
}  // namespace wq::support

// Kills inside ProcessLog::Append. A child process appends; this process runs it instruction by
// instruction, and after each one that changed the file reads the file as the next owner would
// after a kill at this instant. It finds the records of all completed appends, at most the record
// of the one under way besides, and never Corruption.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/boot_id.h"
#include "storage/process_log.h"
#include "storage/process_log/format.h"
#include "storage/process_log/read_process_log.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"

namespace wq::storage {
namespace {

constexpr const char* kStepUuid = "0c4f9a2e-0000-4000-8000-000000000002";
constexpr uint64_t kStepCapacity = kLogPageBytes;
constexpr int kUnstepped = 150;  // More than a lap.
constexpr int kStepped = 30;     // They cross the end of the ring.

// Most are short. Some keys and some batches are long, up to the longest record that a log takes,
// which is half of it.
std::string StepRecord(uint64_t seed, int n) {
  std::mt19937_64 random(seed + static_cast<uint64_t>(n));
  const uint64_t kind = random() % 12;
  const size_t bytes = kind == 0 ? support::DrawSize(&random, 1900) : random() % 90;
  MutationBatch batch;
  batch.Put(Family::kDirty, support::KeyOf(static_cast<uint64_t>(n), bytes), "v");
  for (uint64_t more = kind == 1 ? support::DrawSize(&random, 100) : 0; more > 0; --more) {
    batch.Put(Family::kDelayed, support::KeyOf(more), "");
  }
  return std::string(batch.mutations());
}

// What the child has done, in memory that both processes share.
struct StepProgress {
  volatile int begun;
  volatile int completed;
  volatile LogPosition released;  // The position before record `first`.
  volatile int first;
  volatile bool failed;
};

// Keeps the last 20 records, or as many as there is space for, so that the space of older ones is
// written again.
void AppendStepped(const std::string& dir, uint64_t seed, StepProgress* progress) {
  std::unique_ptr<ProcessLog> log;
  progress->failed =
      !ProcessLog::Create(dir, {kStepUuid, BootId(), /*number=*/1, kStepCapacity}, &log).ok();
  std::vector<std::string> records;
  std::vector<LogPosition> ends = {0};
  for (int n = 0; n < kUnstepped + kStepped; ++n) {
    records.push_back(StepRecord(seed, n));
  }
  ends.reserve(records.size() + 1);
  const auto release = [&](int first) {  // All records before it.
    progress->released = ends[static_cast<size_t>(first)];
    progress->first = first;
    log->Release(progress->released);
  };
  for (int n = 0; n < kUnstepped + kStepped && !progress->failed; ++n) {
    if (n == kUnstepped) raise(SIGSTOP);  // From here on it is stepped.
    progress->begun = n + 1;
    while (!log->Append(records[static_cast<size_t>(n)]) && !progress->failed) {
      progress->failed = progress->first == n;
      release(progress->first + 1);
    }
    progress->completed = n + 1;
    ends.push_back(log->end());
    if (progress->first < n - 20) release(n - 20);
  }
}

class SingleStepTest : public testing::Test {
 protected:
  SingleStepTest()
      : progress_(static_cast<StepProgress*>(mmap(nullptr, kLogPageBytes, PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SingleStepTest() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    munmap(progress_, kLogPageBytes);
  }
  // Starts the child and waits until it is stopped. False: this process must not trace it.
  bool Start() {
    child_ = fork();
    if (child_ == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
      AppendStepped(dir_.path(), seed_, progress_);
      _exit(0);
    }
    int status = 0;
    waitpid(child_, &status, 0);
    if (WIFSTOPPED(status)) return true;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 77) << "status " << status;
    child_ = -1;
    return false;
  }
  // Runs one instruction. False: the child has ended.
  bool Step() {
    int status = 0;
    if (ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0 ||
        waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) {
      return false;
    }
    return true;
  }
  // Whether the file has changed since the last call.
  bool Changed() {
    std::string bytes(kLogDataOffset + kStepCapacity, '\0');
    const ssize_t got = pread(fd_, bytes.data(), bytes.size(), 0);
    EXPECT_EQ(got, static_cast<ssize_t>(bytes.size()));
    return std::exchange(bytes_, bytes) != bytes_;
  }
  void CheckFile() const {
    ProcessLogContents contents;
    const Status read = ReadProcessLog(dir_.path(), 1, &contents);
    ASSERT_TRUE(read.ok()) << read.message();
    // The database has at least the records that are released; here it has exactly these.
    int n = progress_->first;
    LogPosition reached = 0;
    const Status s = contents.ForEach(
        progress_->released,
        [this, &n](std::string_view mutations) {
          EXPECT_EQ(mutations, StepRecord(seed_, n)) << n;
          ++n;
          return Status::Ok();
        },
        &reached);
    ASSERT_TRUE(s.ok()) << s.message();
    ASSERT_GE(n, progress_->completed);
    ASSERT_LE(n, progress_->begun);
  }

  const uint64_t seed_ = support::Seed();
  support::ScratchDirectory dir_;
  StepProgress* const progress_;
  pid_t child_ = -1;
  int fd_ = -1;
  std::string bytes_;
};

TEST_F(SingleStepTest, AKillAtAnyInstructionOfAnAppendLeavesItsRecordOrNone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' own instructions take too long";
#endif
  std::cout << "replay with WQ_SEED=" << seed_ << "\n";
  if (!Start()) {
    GTEST_SKIP() << "NOT TESTED: ptrace is not permitted here";
  }
  fd_ = open((dir_ / ProcessLogName(1)).c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd_, 0);
  uint64_t steps = 0;
  uint64_t changes = 0;
  uint64_t torn = 0;  // Changes at which a record was incomplete.
  while (progress_->completed < kUnstepped + kStepped && !HasFatalFailure()) {
    if (!Step()) {
      ADD_FAILURE() << "a step is not possible: " << strerror(errno);
      break;
    }
    ++steps;
    if (!Changed()) continue;
    ++changes;
    torn += progress_->completed < progress_->begun ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(CheckFile()) << "after instruction " << steps;
  }
  close(fd_);
  std::cout << "total: " << steps << " instructions, " << changes << " changes of the file, "
            << torn << " of them inside an append\n";
  EXPECT_FALSE(progress_->failed);
  EXPECT_GT(torn, uint64_t{2} * kStepped);
}

}  // namespace
}  // namespace wq::storage

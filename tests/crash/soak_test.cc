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
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "wq/store_view.h"

namespace wq::support {
namespace {

using std::chrono::steady_clock;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// The resources of a process and its store at one instant.
struct Usage {
  double hours = 0;
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

  // Watches the child until it has reported `reports` times, or the time is over.
  void Watch(Child* child, uint64_t reports) {
    for (uint64_t seen = 0; seen < reports && !Over();) {
      const size_t before = child->output().size();
      ASSERT_TRUE(child->Read(std::chrono::seconds(10))) << "the child ended by itself";
      seen += (child->output().size() - before) / 2;
      calls_ += 1000 * ((child->output().size() - before) / 2);
      child->ForgetOutput();
      if (steady_clock::now() >= next_sample_) {
        next_sample_ = steady_clock::now() + std::chrono::milliseconds(20) + Elapsed() / 2000;
        Usage usage = Measure(child->pid(), dir_);
        usage.hours = std::chrono::duration<double, std::ratio<3600>>(Elapsed()).count();
        samples_.push_back(usage);
        Check(usage);
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
  void Report(const std::string& what) const;

  const uint64_t seed_ = support::Seed();
  const uint64_t seconds_ = FromEnvironment("WQ_SOAK_SECONDS", 4);
  const steady_clock::time_point begun_ = steady_clock::now();
  std::mt19937_64 random_{seed_};
  ScratchDirectory root_;
  const std::string dir_ = root_ / "store";
  steady_clock::time_point next_sample_ = begun_;
  std::vector<Usage> samples_;
  uint64_t calls_ = 0;
};

void SoakTest::Report(const std::string& what) const {
  Usage most;
  for (const Usage& usage : samples_) {
    most.memory = std::max(most.memory, usage.memory);
    most.descriptors = std::max(most.descriptors, usage.descriptors);
    most.log = std::max(most.log, usage.log);
    most.tables = std::max(most.tables, usage.tables);
    most.process_logs = std::max(most.process_logs, usage.process_logs);
    most.messages = std::max(most.messages, usage.messages);
  }
  std::cout << "total: " << calls_ << " calls, " << samples_.size() << " samples, " << what << "\n"
            << "at most: memory " << most.memory / 1024 << " KiB, log " << most.log / 1024
            << " KiB, tables " << most.tables / 1024 << " KiB, process logs "
            << most.process_logs / 1024 << " KiB, LOG " << most.messages / 1024
            << " KiB, descriptors " << most.descriptors << "\n";
}

TEST_F(SoakTest, ChurnWithKillsStaysBounded) {
  uint64_t kills = 0;
  for (; !Over() && !HasFailure(); ++kills) {
    Child child({support::ProgramBesideThis("soak_child"), dir_, std::to_string(random_())});
    Watch(&child, 1 + random_() % 60);
    child.Signal(SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(child.Wait()));
  }
  std::unique_ptr<StoreView> view;
  const Status s = StoreView::Open(dir_, &view);
  EXPECT_TRUE(s.ok()) << s.ToString();
  Report(std::to_string(kills) + " kills");
  EXPECT_GT(kills, 1U);
  EXPECT_GT(samples_.size(), 5U);
}

// The slope of memory, by least squares, over the last three quarters of the time: during the first
// quarter buffers and caches are filled.
TEST_F(SoakTest, AProcessLeftAloneStaysBounded) {
  Child child({support::ProgramBesideThis("soak_child"), dir_, std::to_string(random_())});
  Watch(&child, UINT64_MAX);
  child.Signal(SIGKILL);
  child.Wait();
  const size_t from = samples_.size() / 4;
  const auto count = static_cast<double>(samples_.size() - from);
  double hours = 0;
  double mib = 0;
  for (size_t i = from; i < samples_.size(); ++i) {
    hours += samples_[i].hours / count;
    mib += static_cast<double>(samples_[i].memory) / static_cast<double>(kMiB) / count;
  }
  double together = 0;
  double spread = 0;
  for (size_t i = from; i < samples_.size(); ++i) {
    const double off = samples_[i].hours - hours;
    together += off * (static_cast<double>(samples_[i].memory) / static_cast<double>(kMiB) - mib);
    spread += off * off;
  }
  const double slope = spread > 0 ? together / spread : 0;  // MiB an hour.
  std::printf("memory: %.1f MiB on average, slope %.3f MiB an hour\n", mib, slope);
  Report("1 process");
  EXPECT_GT(samples_.size(), 5U);
  if (seconds_ >= 600) {  // The slope of a shorter run is noise.
    EXPECT_LT(slope, 1.0 * static_cast<double>(Sanitized()));
  }
}

}  // namespace
}  // namespace wq::support

// A disk that is really full: by a limit on the size of files, which needs no privilege, and by a
// small file system, if the test may mount one. The store returns NotDurable, goes on in memory,
// and loses nothing that was acknowledged.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/mounted_file_system.h"
#include "tests/support/oracle.h"
#include "tests/support/real_store.h"

namespace wq::support {
namespace {

constexpr int kBackgroundJobs = 2;  // What RocksDB runs at once.

// The parameter is StoreOptions::process_log_bytes.
class FullDiskTest : public ::testing::TestWithParam<size_t> {
 protected:
  // Judges the store that `life` has left in `dir`.
  void Judge(const std::string& dir, const Life& life) {
    StoreImage found;
    const Status read = ReadStore(dir, rules_, &found);
    ASSERT_TRUE(read.ok()) << read.ToString();
    Oracle oracle(rules_, kStartWallUs);
    ASSERT_EQ(oracle.Judge(life, found), "");
  }

  const uint64_t seed_ = support::Seed();
  const std::vector<QueueRules> rules_ = AllPolicies();
  ScratchDirectory root_;
};

TEST_P(FullDiskTest, ALimitOnTheSizeOfFiles) {
  std::cout << "replay with WQ_SEED=" << seed_ << "\n";
  const std::string dir = root_ / "store";
  const std::string limit = std::to_string(20'000 + seed_ % 50'000);
  Child child({support::ProgramBesideThis("kill_child"), dir, std::to_string(seed_),
               std::to_string(kStartWallUs), "1", "0",
               Buffers{.process_log_bytes = GetParam()}.ToString(), "failing", limit});
  const int status = child.Wait();
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  Life life = ReadReports(child.output(), StoreSource(rules_, seed_, {.disk_fails = true}));
  life.level = Durability::kProcess;
  const auto refused = std::count(life.results.begin(), life.results.end(), kNotDurable);
  EXPECT_GT(refused, 10);
  EXPECT_GT(static_cast<int64_t>(life.results.size()) - refused, 100);
  Judge(dir, life);
}

TEST_P(FullDiskTest, AFileSystemThatFillsAndEmptiesTenTimes) {
  // The store takes up to 700 KB, and more as long as RocksDB has not deleted what is obsolete.
  const MountedFileSystem small(root_ / "small", {.bytes = 8 << 20});
  if (!small.mounted()) {
    GTEST_SKIP() << small.skipped();
  }
  std::cout << "replay with WQ_SEED=" << seed_ << "\n";
  const std::string dir = root_ / "small/store";
  StoreSource source(rules_, seed_, {.disk_fails = true});
  Life life{.calls = {}, .results = {}, .level = Durability::kProcess, .crash = CrashKind::kKill};
  {
    RealStore store(rules_, kStartWallUs);
    const Status opened = store.Open(dir, life.level, {.process_log_bytes = GetParam()});
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    const auto call = [&] {
      life.calls.push_back(source.Next());
      life.results.push_back(store.Do(life.calls.back()));
      return life.results.back();
    };
    for (int round = 0; round < 10; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      small.Fill(16'000);
      int refused = 0;
      for (int calls = 0; refused < 100 && calls < 100'000; ++calls) {
        refused += call() == kNotDurable ? 1 : 0;
      }
      EXPECT_EQ(refused, 100);
      EXPECT_EQ(store.store()->Health().code(), StatusCode::kNotDurable);
      // It succeeds if the files that it deletes make enough room.
      const Status early = store.store()->Recover();
      EXPECT_TRUE(early.ok() || early.code() == StatusCode::kNotDurable) << early.ToString();
      EXPECT_EQ(store.store()->Health().code(), early.code());
      small.MakeRoom();
      const Status recovered = store.store()->Recover();
      EXPECT_TRUE(recovered.ok()) << recovered.ToString();
      // A flush or compaction that ran while the disk was full may tell of it only now.
      int late = 0;
      for (int i = 0; i < 100; ++i) {
        if (call() == kNotDurable) {
          EXPECT_TRUE(store.store()->Recover().ok());
          ++late;
        }
      }
      EXPECT_LE(late, kBackgroundJobs);
    }
    EXPECT_TRUE(store.store()->Close().ok());
    life.calls.push_back({.queue = 0, .call = {.op = Op::kFlush}});
    life.results.emplace_back("ok");
  }
  Judge(dir, life);
}

INSTANTIATE_TEST_SUITE_P(ProcessLog, FullDiskTest, ::testing::ValuesIn(kLogBytes),
                         [](const auto& info) { return NameOfLog(info.param); });

}  // namespace
}  // namespace wq::support

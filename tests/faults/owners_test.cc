// Two processes that use a store as its owners: after a fork, and after the first owner was
// stopped.

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/oracle.h"
#include "tests/support/real_store.h"
#include "tests/support/wait.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wq::support {
namespace {

class OwnersTest : public ::testing::Test {
 protected:
  OwnersTest() { alarm(1000); }  // Ends a test that hangs.
  ~OwnersTest() override { alarm(0); }

  void Open(std::unique_ptr<Store>* store, Queue** queue) {
    Status s = Store::Open({.create_if_missing = true}, root_ / "store", store);
    if (s.ok()) s = (*store)->OpenQueue("q", {}, queue);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  void Judge(Oracle* oracle, const std::string& dir, const Life& life) {
    EXPECT_GT(life.results.size(), 100U);
    StoreImage found;
    const Status read = ReadStore(dir, rules_, &found);
    ASSERT_TRUE(read.ok()) << read.ToString();
    ASSERT_EQ(oracle->Judge(life, found), "");
  }

  const std::vector<QueueRules> rules_ = AllPolicies();
  ScratchDirectory root_;
};

// The result of `run` in a forked child.
int InChild(const std::function<int()>& run) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(1000);
    _exit(run());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

TEST_F(OwnersTest, AForkedChildIsRefused) {
  if (!kForkedChildMayAllocate) GTEST_SKIP() << "the child allocates: see child.h";
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  Open(&store, &queue);
  ASSERT_TRUE(queue->Add("a").ok());
  const int refused = InChild([&] {
    Queue* other = nullptr;
    const std::vector<Status> said = {
        queue->Add("b"),  // And every other call: see the tests of the engine.
        store->OpenQueue("other", {}, &other),
        store->Flush(),
        store->Health(),
        store->Close(),
    };
    store.reset();  // Has no effect on the parent's store.
    return std::all_of(said.begin(), said.end(),
                       [](const Status& s) {
                         return s.code() == StatusCode::kLocked &&
                                s.message().find(std::to_string(getppid())) != std::string::npos;
                       })
               ? 0
               : 1;
  });
  EXPECT_EQ(refused, 0);
  // The parent's store is as it was.
  std::string key;
  ASSERT_TRUE(queue->Get(&key).ok());
  EXPECT_EQ(key, "a");
  EXPECT_TRUE(queue->Done("a").ok());
  EXPECT_TRUE(store->Close().ok());
}

// A child of clone(2) does not close its copies of the descriptors, as that of fork(2) does.
TEST_F(OwnersTest, AChildDoesNotKeepTheStore) {
  for (const bool cloned : {false, true}) {
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Open(&store, &queue);
    ASSERT_TRUE(queue->Add("a").ok());
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = cloned ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork();
    if (pid == 0) {  // Runs until the pipe is closed.
      char c = 0;
      close(ends[1]);
      _exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    store.reset();
    Open(&store, &queue);
    EXPECT_EQ(queue->Len(), 1U);
    close(ends[1]);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

// What a host does whose exec failed. RocksDB's destructors would wait for its parent's threads.
TEST_F(OwnersTest, AForkedChildWhoseExecFailsExits) {
  const std::string dir = root_ / "store";
  {
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Open(&store, &queue);
    ASSERT_TRUE(queue->Add("a").ok());
    EXPECT_EQ(InChild([] {
                execl("/there/is/no/such/program", "program", nullptr);
                exit(7);
                return 1;
              }),
              7);
    EXPECT_EQ(queue->Len(), 1U);
  }
  std::unique_ptr<StoreView> view;
  ASSERT_TRUE(StoreView::Open(dir, &view).ok());
  EXPECT_EQ(InChild([] {
              exit(8);
              return 1;
            }),
            8);
}

TEST_F(OwnersTest, AForkedChildOpensStoresInMemoryOnly) {
  if (!kForkedChildMayAllocate) GTEST_SKIP() << "the child allocates: see child.h";
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  Open(&store, &queue);
  const int opened = InChild([&] {
    std::unique_ptr<Store> own;
    // RocksDB's threads are not copied by a fork: an opening would wait for them indefinitely.
    for (const char* name : {"store", "other"}) {
      const Status s = Store::Open({.create_if_missing = true}, root_ / name, &own);
      if (s.code() != StatusCode::kLocked) return 1;
      if (s.message().find(std::to_string(getppid())) == std::string::npos) return 1;
    }
    if (!Store::OpenInMemory({}, &own).ok()) return 2;
    Queue* other = nullptr;
    if (!own->OpenQueue("q", {}, &other).ok() || !other->Add("x").ok()) return 3;
    return own->Close().ok() ? 0 : 4;
  });
  EXPECT_EQ(opened, 0);
}

// The parameter is StoreOptions::process_log_bytes.
class StoppedOwnerTest : public OwnersTest, public ::testing::WithParamInterface<size_t> {};

// If the locks of a stopped owner were removed, it must not write when it continues.
TEST_P(StoppedOwnerTest, WritesNoMoreWhenItContinues) {
  const std::string dir = root_ / "store";
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  Child first({support::ProgramBesideThis("kill_child"), dir, std::to_string(seed),
               std::to_string(kStartWallUs), "1", "0",
               Buffers{.process_log_bytes = GetParam()}.ToString(), "failing"});
  while (first.output().size() < 5000 && first.Read(support::kPatience)) {
  }
  first.Signal(SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(first.pid(), &status, WUNTRACED), first.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  for (size_t size = 0; size < first.output().size();) {  // Reads all reports in the pipe.
    size = first.output().size();
    first.Read({});
  }
  const std::string reports = first.output();

  std::unique_ptr<Store> refused;
  EXPECT_EQ(Store::Open({}, dir, &refused).code(), StatusCode::kLocked);
  std::filesystem::remove(dir + "/OWNER");
  std::filesystem::remove(dir + "/LOCK");
  Oracle oracle(rules_, kStartWallUs);
  Judge(&oracle, dir, ReadReports(reports, StoreSource(rules_, seed, {.disk_fails = true})));
  Life life;
  {
    RealStore second(rules_, oracle.wall_us());
    const Status opened = second.Open(dir, Durability::kProcess, {.process_log_bytes = GetParam()});
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    first.Signal(SIGCONT);
    StoreSource source(rules_, seed + 1, {.disk_fails = true});
    // 200 calls after the first owner has reported NotDurable, and as many as it takes before.
    for (uint64_t more = 200; more > 0;) {
      life.calls.push_back(source.Next());
      life.results.push_back(second.Do(life.calls.back()));
      const bool open = first.Read({});
      more -= !open || first.output().find(kNotDurable) != std::string::npos ? 1 : 0;
    }
    EXPECT_TRUE(second.store()->Close().ok());
    life.calls.push_back({.queue = 0, .call = {.op = Op::kFlush}});
    life.results.emplace_back("ok");
  }
  first.Signal(SIGKILL);
  first.Wait();
  EXPECT_NE(first.output().find(kNotDurable), std::string::npos);
  Judge(&oracle, dir, life);
}

INSTANTIATE_TEST_SUITE_P(ProcessLog, StoppedOwnerTest, ::testing::ValuesIn(kLogBytes),
                         [](const auto& info) { return NameOfLog(info.param); });

}  // namespace
}  // namespace wq::support

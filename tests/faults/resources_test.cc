// A store is opened without threads or memory: Store::Open and StoreView::Open return a status, and
// the next opening in the same process succeeds. Each round is a process of its own, as RocksDB's
// threads are started once in a process.

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/memory_log.h"
#include "tests/support/wait.h"
#include "wq/queue.h"
#include "wq/replicated_log.h"
#include "wq/store.h"
#include "wq/store_view.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WQ_OWN_ALLOCATOR  // The sanitizer's own calls would be replaced.
#endif

namespace {

std::atomic<int64_t> threads_left{INT64_MAX};
thread_local int64_t allocations_left = INT64_MAX;

}  // namespace

#ifndef WQ_OWN_ALLOCATOR
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return threads_left.fetch_sub(1) == 0 ? EAGAIN : real(thread, attributes, body, argument);
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* const memory = allocations_left-- == 0 ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace wq::support {
namespace {

StoreOptions OptionsOf(const std::string& kind, const std::shared_ptr<ReplicatedLog>& log) {
  StoreOptions options{.create_if_missing = true, .history_bytes = size_t{1} << 20};
  if (kind == "replicated") {
    options.replication = Replication{.log = log,
                                      .name = "a",
                                      .lease = std::chrono::hours(1),
                                      .lease_margin = std::chrono::milliseconds(50)};
  }
  return options;
}

// After an ownership that has ended, a replica would leave the log to the others for a lease. So it
// is named as the next owner, again and again: the beginning of an ownership forgets the name.
Status AwaitOwnership(ReplicatedLog* log, Store* store) {
  const auto until = PatienceEnds();
  Status s;
  do {
    s = log->SetSuccessor("a");
    if (s.ok()) s = store->WaitForLeadership(std::chrono::milliseconds(100));
  } while (s.code() == StatusCode::kTimedOut && std::chrono::steady_clock::now() < until);
  return s;
}

// Opens what WQ_RESOURCES_KIND names in the directory WQ_RESOURCES_DIR, without the thread or the
// allocation of this number. Exits with 0: nothing has failed; 10: a status, and then a success.
TEST(ResourcesRound, DISABLED_Round) {
  const std::string kind = std::getenv("WQ_RESOURCES_KIND");
  const std::string dir = std::getenv("WQ_RESOURCES_DIR");
  const auto thread = static_cast<int64_t>(FromEnvironment("WQ_RESOURCES_THREAD", INT64_MAX));
  const auto memory = static_cast<int64_t>(FromEnvironment("WQ_RESOURCES_MEMORY", INT64_MAX));
  const auto log = std::make_shared<support::MemoryLog>();
  const StoreOptions options = OptionsOf(kind, log);
  std::unique_ptr<Store> store;
  std::unique_ptr<StoreView> view;
  const auto open = [&] {
    return kind == "view" ? StoreView::Open(dir, &view) : Store::Open(options, dir, &store);
  };
  std::unique_ptr<Store> other;  // So that RocksDB's timer goes on: see StartThreads.
  if (kind == "replicated") {    // The log is in memory, so the store is made here.
    Status made = Store::Open({.create_if_missing = true}, dir + "-other", &other);
    if (made.ok()) made = open();
    if (made.ok()) made = AwaitOwnership(log.get(), store.get());
    if (made.ok()) made = store->Close();
    ASSERT_TRUE(made.ok()) << made.ToString();
    store.reset();
  }
  threads_left = thread;
  allocations_left = memory;
  const Status first = open();
  if (kind == "replicated" && first.ok()) {  // The threads of an ownership.
    const Status owns = AwaitOwnership(log.get(), store.get());
    ASSERT_TRUE(owns.ok()) << owns.ToString();
  }
  const bool failed = allocations_left < 0 || threads_left < 0;
  allocations_left = threads_left = INT64_MAX;
  if (!failed) {
    std::_Exit(0);
  }
  if (!first.ok()) {
    EXPECT_EQ(first.code(), StatusCode::kIOError) << first.ToString();
    const Status second = open();
    ASSERT_TRUE(second.ok()) << first.ToString() << ", then " << second.ToString();
  }
  if (store != nullptr) {
    Queue* queue = nullptr;
    Status s;
    // The ownership that lacked a thread may have begun, and ends only now: then there is another.
    for (int ownership = 0; ownership < 3; ++ownership) {
      s = kind == "replicated" ? AwaitOwnership(log.get(), store.get()) : Status::Ok();
      if (s.ok()) s = store->OpenQueue("q", {}, &queue);
      if (s.ok()) s = queue->Add("key");
      if (s.code() != StatusCode::kNotOwner) break;
    }
    if (s.ok()) s = store->Close();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  std::_Exit(::testing::Test::HasFailure() ? 1 : first.ok() ? 11 : 10);
}

// Returns the exit status of a round; -1: it was ended by a signal.
int Round(const std::string& kind, const std::string& dir, const char* what, uint64_t number) {
  setenv("WQ_RESOURCES_KIND", kind.c_str(), 1);
  setenv("WQ_RESOURCES_DIR", dir.c_str(), 1);
  setenv(what, std::to_string(number).c_str(), 1);
  Child child({"/proc/self/exe", "--gtest_filter=ResourcesRound.DISABLED_Round",
               "--gtest_also_run_disabled_tests"});
  const int status = child.Wait();
  unsetenv(what);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 1)
      << kind << ", " << what << " " << number << ": status " << status << "\n"
      << child.output();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ResourcesTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
#ifdef WQ_OWN_ALLOCATOR
    GTEST_SKIP() << "the sanitizer has its own";
#endif
    const std::string made = root_ / "store";
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Status s = Store::Open({.create_if_missing = true}, made, &store);
    if (s.ok()) s = store->OpenQueue("q", {}, &queue);
    if (s.ok()) s = queue->Add("k");
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  std::string Dir(uint64_t round) const {
    const std::string kind = GetParam();
    return kind == "existing" || kind == "view" ? root_ / "store"
                                                : root_ / ("new" + std::to_string(round));
  }
  const ScratchDirectory root_;
};

TEST_P(ResourcesTest, WithoutAThreadTheOpeningFailsAndSucceedsLater) {
  int refused = 0;
  for (uint64_t thread = 0;; ++thread) {
    const int status = Round(GetParam(), Dir(thread), "WQ_RESOURCES_THREAD", thread);
    if (status == 0 || HasFailure()) {
      break;
    }
    refused += status == 10 ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
}

// WQ_RESOURCES_ROUNDS is the number of rounds.
TEST_P(ResourcesTest, WithoutMemoryTheOpeningFailsAndSucceedsLater) {
  if (std::string_view(GetParam()) == "replicated") {
    GTEST_SKIP() << "an ownership may begin within the call; without memory that ends the process";
  }
  const uint64_t seed = support::Seed();
  std::cout << "replay with WQ_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  const uint64_t rounds = FromEnvironment("WQ_RESOURCES_ROUNDS", 5);
  for (uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    Round(GetParam(), Dir(1000 + round), "WQ_RESOURCES_MEMORY", random() % 3000);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResourcesTest,
                         ::testing::Values("new", "existing", "view", "replicated"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace wq::support

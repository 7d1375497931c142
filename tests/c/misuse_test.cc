// Misuse of the C interface: each mistake returns a code with a message, and changes nothing.

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

using MisuseTest = CTest;

// Every call that takes a queue, with valid arguments or NULL.
std::vector<std::function<wq_code(wq_queue)>> QueueCalls(bool good) {
  static wq_bytes bytes = WQ_NO_BYTES;
  static size_t size = 0;
  static uint64_t number = 0;
  static int32_t flag = 0;
  static int fd = -1;
  static wq_counts counts{};
  static wq_worker worker = WQ_NO_WORKER;
  static wq_source source = WQ_NO_SOURCE;
  counts.size = sizeof counts;
  const char* const k = good ? "k" : nullptr;
  wq_bytes* const out = good ? &bytes : nullptr;
  const auto queued =
      good ? [](void*, const wq_queued_key*) { return 1; } : wq_visit_queued(nullptr);
  const auto quarantined =
      good ? [](void*, const wq_quarantined_key*) { return 1; } : wq_visit_quarantined(nullptr);
  const auto cursor =
      good ? [](void*, const char*, const char*, size_t) { return 1; } : wq_visit_cursor(nullptr);
  const auto visit_source =
      good ? [](void*, const wq_source_info*) { return 1; } : wq_visit_source(nullptr);
  const auto cause =
      good ? [](void*, const char*, const char*) { return 1; } : wq_visit_cause(nullptr);
  return {
      [=](wq_queue q) { return wq_queue_add(q, k, 1, nullptr, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_add_after(q, k, 1, 1, nullptr, nullptr, nullptr); },
      [=](wq_queue q) {
        return wq_queue_add_rate_limited(q, k, 1, nullptr, 0, nullptr, nullptr, nullptr);
      },
      [=](wq_queue q) { return wq_queue_add_batch(q, k, 1, nullptr, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_remove(q, k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_cancel_delay(q, k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_end_delay(q, k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_delete(q, k, 1, nullptr); },
      [=](wq_queue q) {
        return wq_queue_is_quarantined(q, "k", 1, good ? &flag : nullptr, nullptr);
      },
      [=](wq_queue q) { return wq_queue_forget(q, k, 1, nullptr); },
      [=](wq_queue q) {
        return wq_queue_num_requeues(q, "k", 1, good ? &number : nullptr, nullptr);
      },
      [=](wq_queue q) { return wq_queue_causes(q, k, 1, cause, nullptr, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_get(q, 0, out, nullptr); },
      [=](wq_queue q) { return wq_queue_get_batch(q, 1, 0, out, nullptr, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_done(q, k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_done_batch(q, k, 1, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_added_again(q, "k", 1, good ? &flag : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_ready_fd(q, good ? &fd : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_join(q, good ? &worker : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_quarantine(q, k, 1, nullptr, 0, nullptr); },
      [=](wq_queue q) { return wq_queue_release(q, k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_release_after(q, k, 1, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_drop(q, k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_set_cursor(q, k, "v", 1, nullptr); },
      [=](wq_queue q) { return wq_queue_set_cursor(q, "c", k, 1, nullptr); },
      [=](wq_queue q) { return wq_queue_get_cursor(q, k, out, nullptr); },
      [=](wq_queue q) { return wq_queue_get_cursor(q, "c", out, nullptr); },
      [=](wq_queue q) { return wq_queue_erase_cursor(q, k, nullptr); },
      [=](wq_queue q) { return wq_queue_len(q, good ? &size : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_counts(q, good ? &counts : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_list(q, 1, queued, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_position_of(q, "k", 1, good ? &size : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_quarantined(q, quarantined, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_cursors(q, cursor, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_open_source(q, k, good ? &source : nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_remove_source(q, k, nullptr); },
      [=](wq_queue q) { return wq_queue_sources(q, visit_source, nullptr, nullptr); },
      [=](wq_queue q) { return wq_queue_is_shutting_down(q, good ? &flag : nullptr, nullptr); },
  };
}

// The calls without an argument that could be NULL.
std::vector<std::function<wq_code(wq_queue)>> BareQueueCalls() {
  return {
      [](wq_queue q) { return wq_queue_pause(q, 0, nullptr); },
      [](wq_queue q) { return wq_queue_resume(q, nullptr); },
      [](wq_queue q) { return wq_queue_shut_down(q, nullptr); },
      [](wq_queue q) { return wq_queue_shut_down_with_drain(q, 0, nullptr); },
      [](wq_queue q) { return wq_queue_stop(q, nullptr); },
      [](wq_queue q) { return wq_queue_close(q, nullptr); },
      [](wq_queue q) { return wq_queue_flush(q, 0, nullptr); },
  };
}

TEST_F(MisuseTest, NullIsRefusedByEveryCall) {
  OpenQueue();
  size_t i = 0;
  for (const auto& call : QueueCalls(false)) {
    EXPECT_EQ(call(queue_), WQ_INVALID_ARGUMENT) << "call " << i;
    ++i;
  }
  wq_store store = WQ_NO_STORE;
  EXPECT_EQ(wq_store_open(nullptr, nullptr, &store, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_open("x", nullptr, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_open_in_memory(nullptr, nullptr, nullptr), WQ_INVALID_ARGUMENT);
}

TEST_F(MisuseTest, NullIsRefusedByStoresAndBytes) {
  wq_queue queue = WQ_NO_QUEUE;
  EXPECT_EQ(wq_store_open_queue(store_, nullptr, nullptr, &queue, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_open_queue(store_, "q", nullptr, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_delete_queue(store_, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_queue_names(store_, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_uuid(store_, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_dir(store_, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_store_metrics(store_, &bytes_, nullptr), WQ_INVALID_ARGUMENT);  // It has none.
  EXPECT_EQ(wq_keys_append(nullptr, "k", 1, nullptr), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_keys_next(nullptr, 0, nullptr, nullptr, nullptr, nullptr), WQ_INVALID_ARGUMENT);
  wq_bytes_free(nullptr);
}

TEST_F(MisuseTest, AnInvalidHandleIsRefusedByEveryCall) {
  OpenQueue();
  const wq_queue freed = queue_;
  ASSERT_EQ(wq_store_free(store_, &error_), WQ_OK);
  wq_store other = WQ_NO_STORE;
  ASSERT_EQ(wq_store_open_in_memory(nullptr, &other, &error_), WQ_OK);
  auto calls = QueueCalls(true);
  for (auto& call : BareQueueCalls()) {
    calls.push_back(std::move(call));
  }
  for (const wq_queue bad : {wq_queue{0}, wq_queue{other.handle}, freed, wq_queue{~uint64_t{0}}}) {
    size_t i = 0;
    for (const auto& call : calls) {
      EXPECT_EQ(call(bad), WQ_BAD_HANDLE) << "call " << i << " with " << bad.handle;
      ++i;
    }
  }
  size_t count = 0;
  uint32_t shard = 0;
  for (const uint64_t bad : {uint64_t{0}, freed.handle, other.handle}) {
    EXPECT_EQ(wq_worker_get({bad}, 0, &bytes_, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_worker_get_batch({bad}, 1, 0, &bytes_, nullptr, &count, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_worker_shards({bad}, &shard, 1, &count, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_worker_leave({bad}, &error_), WQ_BAD_HANDLE);
  }
  for (const uint64_t bad : {uint64_t{0}, freed.handle, store_.handle}) {
    EXPECT_EQ(wq_store_health({bad}, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_store_flush({bad}, 0, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_store_close({bad}, &error_), WQ_BAD_HANDLE);
    EXPECT_EQ(wq_store_free({bad}, &error_), WQ_BAD_HANDLE);
  }
  EXPECT_EQ(wq_store_free(other, &error_), WQ_OK);
}

TEST_F(MisuseTest, AStructWithoutASizeOrWithUnknownOptionsIsRefused) {
  struct LaterOptions {
    wq_queue_options now;
    uint64_t more;
  };
  LaterOptions later{};
  EXPECT_EQ(wq_store_open_queue(store_, "q", &later.now, &queue_, &error_), WQ_INVALID_ARGUMENT);
  later.now.size = 1'000'000;
  EXPECT_EQ(wq_store_open_queue(store_, "q", &later.now, &queue_, &error_), WQ_INVALID_ARGUMENT);
  later.now.size = sizeof later;
  later.more = 1;
  EXPECT_EQ(wq_store_open_queue(store_, "q", &later.now, &queue_, &error_), WQ_NOT_SUPPORTED);
  later.more = 0;
  EXPECT_EQ(wq_store_open_queue(store_, "q", &later.now, &queue_, &error_), WQ_OK);
}

TEST_F(MisuseTest, AnEarlierStructIsFilledToItsSize) {
  OpenQueue();
  ASSERT_EQ(Add("a"), WQ_OK);
  wq_counts counts{};
  counts.delayed = 77;
  counts.size = offsetof(wq_counts, delayed);
  EXPECT_EQ(wq_queue_counts(queue_, &counts, &error_), WQ_OK);
  EXPECT_EQ(counts.queued, 1u);
  EXPECT_EQ(counts.delayed, 77u);
  EXPECT_EQ(counts.size, offsetof(wq_counts, delayed));
}

TEST_F(MisuseTest, OptionsOutOfRangeAreRefused) {
  const auto open = [this](const std::function<void(wq_queue_options*)>& change) {
    auto options = Sized<wq_queue_options>();
    change(&options);
    return wq_store_open_queue(store_, "q", &options, &queue_, &error_);
  };
  EXPECT_EQ(open([](auto* o) { o->order = 5; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->order = -1; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->re_add = 2; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->quarantined_add = 2; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->durability = WQ_REPLICATED + 1; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->lane_count = 1; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->shards = 70'000; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->max_key_bytes = 70'000; }), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(open([](auto* o) { o->must_exist = 1; }), WQ_NOT_FOUND);
}

TEST_F(MisuseTest, AMalformedLimiterIsRefused) {
  auto limiter = Sized<wq_limiter>();
  const wq_limiter* itself[] = {&limiter};
  auto options = Sized<wq_queue_options>();
  options.limiter = &limiter;
  const auto open = [&] { return wq_store_open_queue(store_, "q", &options, &queue_, &error_); };
  limiter.kind = WQ_LIMITER_CONTROLLER + 1;
  EXPECT_EQ(open(), WQ_INVALID_ARGUMENT);
  limiter.kind = WQ_LIMITER_MAX_OF;
  EXPECT_EQ(open(), WQ_INVALID_ARGUMENT);
  limiter.limiters = itself;
  limiter.limiter_count = 1;
  EXPECT_EQ(open(), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "limiters are more than 8 deep");
}

TEST_F(MisuseTest, AMalformedKeyListIsRefusedAsAWhole) {
  OpenQueue();
  const std::string lists[] = {std::string("\x01\0\0\0a\x05", 6), std::string("\x02\0\0\0a", 5),
                               std::string("\x01\0\0\0a\xff\xff\xff\xff", 9)};
  for (const std::string& list : lists) {
    EXPECT_EQ(wq_queue_add_batch(queue_, list.data(), list.size(), nullptr, nullptr, &error_),
              WQ_INVALID_ARGUMENT);
    EXPECT_EQ(wq_queue_done_batch(queue_, list.data(), list.size(), nullptr, &error_),
              WQ_INVALID_ARGUMENT);
  }
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_EQ(wq_queue_add_batch(queue_, nullptr, 0, nullptr, nullptr, &error_), WQ_OK);
}

TEST_F(MisuseTest, AMessageIsCutOnAUtf8Boundary) {
  OpenQueue();
  std::string name;
  while (name.size() < 2000) {
    name += "ä";
  }
  ASSERT_EQ(wq_queue_get_cursor(queue_, name.c_str(), &bytes_, &error_), WQ_NOT_FOUND);
  const std::string_view message = error_.message;
  EXPECT_LT(message.size(), sizeof error_.message);
  bytes_ = WQ_NO_BYTES;
  bytes_.capacity = 7;
  EXPECT_EQ(wq_store_uuid(store_, &bytes_, &error_), WQ_INVALID_ARGUMENT);
  bytes_ = WQ_NO_BYTES;
}

TEST_F(MisuseTest, AWorkerThatIsBlockedCannotLeave) {
  auto options = Sized<wq_queue_options>();
  options.shards = 1;
  OpenQueue(&options);
  wq_worker worker = WQ_NO_WORKER;
  ASSERT_EQ(wq_queue_join(queue_, &worker, &error_), WQ_OK);
  std::promise<void> inside;
  auto blocked = std::async(std::launch::async, [&] {
    wq_bytes key = WQ_NO_BYTES;
    inside.set_value();
    const wq_code code = wq_worker_get(worker, WQ_FOREVER, &key, nullptr);
    wq_bytes_free(&key);
    return code;
  });
  inside.get_future().wait();
  ASSERT_EQ(Add("k"), WQ_OK);
  EXPECT_EQ(blocked.get(), WQ_OK);
  ASSERT_EQ(Done("k"), WQ_OK);
  EXPECT_EQ(wq_worker_leave(worker, &error_), WQ_OK);
  // While a call is blocked until the store is closed, leaving fails, unless it precedes the call.
  ASSERT_EQ(wq_queue_join(queue_, &worker, &error_), WQ_OK);
  auto last = std::async(std::launch::async, [worker] {
    wq_bytes key = WQ_NO_BYTES;
    const wq_code code = wq_worker_get(worker, WQ_FOREVER, &key, nullptr);
    wq_bytes_free(&key);
    return code;
  });
  const wq_code left = wq_worker_leave(worker, &error_);
  EXPECT_TRUE(left == WQ_OK || left == WQ_INVALID_ARGUMENT) << left;
  EXPECT_EQ(wq_store_free(store_, &error_), WQ_OK);
  const wq_code code = last.get();
  EXPECT_TRUE(code == WQ_SHUTTING_DOWN || code == WQ_BAD_HANDLE) << code;
}

TEST_F(MisuseTest, ManyThreadsCallWhileTheStoreIsFreed) {
  for (int round = 0; round < 50; ++round) {
    wq_store store = WQ_NO_STORE;
    wq_queue queue = WQ_NO_QUEUE;
    ASSERT_EQ(wq_store_open_in_memory(nullptr, &store, &error_), WQ_OK);
    ASSERT_EQ(wq_store_open_queue(store, "q", nullptr, &queue, &error_), WQ_OK);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([queue, store, i] {
        const char key = static_cast<char>('a' + i);
        wq_code code = WQ_OK;
        while (code == WQ_OK || code == WQ_SHUTTING_DOWN) {
          code = wq_queue_add(queue, &key, 1, nullptr, nullptr, nullptr);
        }
        EXPECT_EQ(code, WQ_BAD_HANDLE);
        EXPECT_EQ(wq_store_health(store, nullptr), WQ_BAD_HANDLE);
      });
    }
    EXPECT_EQ(wq_store_free(store, &error_), WQ_OK);
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

// --- A forked child: every call fails, and the parent is unaffected ---

using ForkTest = CTest;

// Only plain calls: other threads of the parent may have held any lock at the fork.
int InTheChild(wq_store store, wq_queue queue) {
  wq_bytes bytes = WQ_NO_BYTES;
  wq_store other = WQ_NO_STORE;
  wq_error error;
  const wq_code codes[] = {wq_queue_add(queue, "k", 1, nullptr, nullptr, &error),
                           wq_queue_get(queue, WQ_FOREVER, &bytes, &error),
                           wq_queue_stop(queue, &error),
                           wq_queue_close(queue, &error),
                           wq_store_flush(store, 0, &error),
                           wq_store_close(store, &error),
                           wq_store_free(store, &error),
                           wq_store_open_in_memory(nullptr, &other, &error)};
  int refused = 0;
  for (const wq_code code : codes) {
    refused += code == WQ_FORKED && error.code == WQ_FORKED ? 1 : 0;
  }
  return refused;
}

TEST_F(ForkTest, EveryCallFailsInTheChild) {
  OpenQueue();
  ASSERT_EQ(Add("before"), WQ_OK);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::_exit(InTheChild(store_, queue_));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 8);
  EXPECT_EQ(Add("after"), WQ_OK);
  EXPECT_EQ(Get(), "before");
}

// --- Queues that are deleted leave no memory behind ---

TEST(StoresCTest, AThousandQueuesThatAreMadeAndDeletedTakeAMebibyte) {
  constexpr int kFirst = 100;
  constexpr int kQueues = 1000;
  const auto in_use = [] {  // 0 under the address sanitizer.
    const auto now = mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  wq_store store = WQ_NO_STORE;  // In memory: no database, whose buffers would count.
  ASSERT_EQ(wq_store_open_in_memory(nullptr, &store, nullptr), WQ_OK);
  size_t before = 0;
  for (int i = 0; i < kFirst + kQueues; ++i) {
    if (i == kFirst) {
      before = in_use();
    }
    const std::string name = "q" + std::to_string(i);
    wq_queue queue = WQ_NO_QUEUE;
    ASSERT_EQ(wq_store_open_queue(store, name.c_str(), nullptr, &queue, nullptr), WQ_OK);
    ASSERT_EQ(wq_queue_add(queue, "key", 3, nullptr, nullptr, nullptr), WQ_OK);
    ASSERT_EQ(wq_queue_close(queue, nullptr), WQ_OK);
    ASSERT_EQ(wq_store_delete_queue(store, name.c_str(), nullptr), WQ_OK);
  }
  EXPECT_LT(in_use(), before + (size_t{1} << 20));
  EXPECT_EQ(wq_store_free(store, nullptr), WQ_OK);
}

}  // namespace
}  // namespace wq::c

// The sources of the C interface: what a restart adds, and what is refused.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/c/c_fixture.h"
#include "tests/support/environment.h"

namespace wq::c {
namespace {

class SourcesCTest : public CTest {  // With a store on disk.
 protected:
  SourcesCTest() { Open(); }
  ~SourcesCTest() override {
    wq_bytes_free(&keys_);
    wq_store_free(store_, nullptr);  // Before its directory.
  }

  void Open() {
    auto options = Sized<wq_store_options>();
    options.create_if_missing = 1;
    wq_store_free(store_, nullptr);
    ASSERT_EQ(wq_store_open((dir_ / "store").c_str(), &options, &store_, &error_), WQ_OK);
    OpenQueue();
    ASSERT_EQ(wq_queue_open_source(queue_, "pods", &pods_, &error_), WQ_OK);
  }
  wq_source BeginList() {
    wq_source list = WQ_NO_SOURCE;
    EXPECT_EQ(wq_source_begin_list(pods_, nullptr, &list, &error_), WQ_OK);
    return list;
  }
  // Observes the object, whose key is its name.
  wq_code Observe(wq_source by, std::string_view object, std::string_view version) {
    keys_.size = 0;
    EXPECT_EQ(wq_keys_append(&keys_, object.data(), object.size(), nullptr), WQ_OK);
    auto seen = Sized<wq_observation>();
    seen.object = object.data();
    seen.object_size = object.size();
    seen.version = version.data();
    seen.version_size = version.size();
    seen.keys = keys_.data;
    seen.keys_size = keys_.size;
    return wq_source_observe(by, &seen, nullptr, nullptr, &error_);
  }

  const support::ScratchDirectory dir_;
  wq_source pods_ = WQ_NO_SOURCE;
  wq_bytes keys_ = WQ_NO_BYTES;
};

TEST_F(SourcesCTest, ARestartAddsWhatChangedIsNewOrWasDeleted) {
  for (int i = 0; i < 1000; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_EQ(Observe(pods_, key, "1"), WQ_OK);
    ASSERT_EQ(Get(), key);
    ASSERT_EQ(wq_queue_add_after(queue_, key.data(), key.size(), INT64_C(3600000000), nullptr,
                                 nullptr, nullptr),
              WQ_OK);
    ASSERT_EQ(Done(key), WQ_OK);
  }
  Open();
  const wq_source list = BeginList();
  for (int i = 2; i < 1002; ++i) {  // 0 and 1 were deleted, 2 to 4 changed, 1000 and 1001 are new.
    ASSERT_EQ(Observe(list, std::to_string(i), i < 5 ? "2" : "1"), WQ_OK);
  }
  ASSERT_EQ(wq_source_next_deleted(list, &bytes_, &error_), WQ_OK);
  EXPECT_EQ(std::string(bytes_.data, bytes_.size), std::string("\1\0\0\0"
                                                               "0"
                                                               "\1\0\0\0"
                                                               "1"
                                                               "\0\0\0\0"
                                                               "\1\0\0\0"
                                                               "0",
                                                               19));
  ASSERT_EQ(wq_source_end_list(list, nullptr, &error_), WQ_OK);
  for (const char* const key : {"2", "3", "4", "1000", "1001", "0", "1", "TimedOut"}) {
    EXPECT_EQ(Get(), key);
  }
  EXPECT_EQ(Counts().delayed, 1000U);
}

TEST_F(SourcesCTest, WhatIsOutOfBoundsIsRefusedAsAWhole) {
  ASSERT_EQ(Observe(pods_, "known", "1"), WQ_OK);
  const std::string huge((size_t{64} << 10) + 1, 'x');
  std::string many;
  for (int i = 0; i < 1001; ++i) {
    many += std::string("\1\0\0\0k", 5);
  }
  const struct {
    const char* message;
    std::function<void(wq_observation*)> change;
  } rows[] = {
      {"the object is empty", [](auto* o) { o->object_size = 0; }},
      {"bytes of an object", [&](auto* o) { o->object = huge.data(), o->object_size = 4097; }},
      {"bytes of a version", [&](auto* o) { o->version = huge.data(), o->version_size = 129; }},
      {"bytes of a tombstone",
       [&](auto* o) { o->tombstone = huge.data(), o->tombstone_size = 4097; }},
      {"keys of an object", [&](auto* o) { o->keys = many.data(), o->keys_size = many.size(); }},
      {"observation.keys: a key list ends",
       [&](auto* o) { o->keys = "\2\0\0\0k", o->keys_size = 5; }},
      {"observation.object is NULL", [](auto* o) { o->object = nullptr; }},
      {"observation.version is NULL", [](auto* o) { o->version_size = 1; }},
      {"observation.tombstone is NULL", [](auto* o) { o->tombstone_size = 1; }},
      {"observation.keys is NULL", [](auto* o) { o->keys_size = 1; }},
      {"observation.size is 0", [](auto* o) { o->size = 0; }},
  };
  wq_observe_result unsized{};
  for (const auto& row : rows) {
    const wq_source list = BeginList();
    for (const wq_source by : {pods_, list}) {
      auto seen = Sized<wq_observation>();
      seen.object = "known";
      seen.object_size = 5;
      row.change(&seen);
      EXPECT_EQ(wq_source_observe(by, &seen, nullptr, nullptr, &error_), WQ_INVALID_ARGUMENT);
      EXPECT_EQ(std::string(error_.message).find(row.message), 0U) << error_.message;
      const bool known = seen.size > 0 && seen.object != nullptr && seen.object_size == 5;
      if (known) {  // It is there.
        EXPECT_EQ(wq_source_next_deleted(list, &bytes_, &error_), WQ_NOT_FOUND) << row.message;
      }
    }
  }
  wq_source list = BeginList();
  auto there = Sized<wq_observation>();
  there.object = "known";
  there.object_size = 5;
  EXPECT_EQ(wq_source_observe(list, &there, nullptr, &unsized, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_source_next_deleted(list, &bytes_, &error_), WQ_NOT_FOUND);
  list = BeginList();
  struct {
    wq_observation known;
    char of_later_version = 1;
  } later = {.known = there};
  later.known.size = sizeof later;
  EXPECT_EQ(wq_source_observe(list, &later.known, nullptr, nullptr, &error_), WQ_NOT_SUPPORTED);
  EXPECT_EQ(wq_source_next_deleted(list, &bytes_, &error_), WQ_NOT_FOUND);
  EXPECT_EQ(wq_source_observe(pods_, nullptr, nullptr, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_source_next_deleted(list, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(wq_source_begin_list(pods_, nullptr, nullptr, &error_), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(Get(), "known");
  EXPECT_EQ(Get(), "TimedOut");
}

TEST_F(SourcesCTest, TheRowOfAnotherVersionIsReturnedBeforeTheChange) {
  ASSERT_EQ(Observe(pods_, "o", "1"), WQ_OK);
  ASSERT_EQ(Get(), "o");
  ASSERT_EQ(Done("o"), WQ_OK);
  auto seen = Sized<wq_observation>();
  seen.object = "o";
  seen.object_size = 1;
  seen.version = "2";
  seen.version_size = 1;
  seen.before = &bytes_;
  EXPECT_EQ(wq_source_observe(pods_, &seen, nullptr, nullptr, &error_), WQ_OK);
  EXPECT_EQ(std::string(bytes_.data, bytes_.size), std::string("\1\0\0\0"
                                                               "o"
                                                               "\1\0\0\0"
                                                               "1"
                                                               "\0\0\0\0"
                                                               "\1\0\0\0"
                                                               "o",
                                                               19));
  EXPECT_EQ(Get(), "TimedOut");
  seen.version = "1";
  EXPECT_EQ(wq_source_observe(pods_, &seen, nullptr, nullptr, &error_), WQ_OK);
  EXPECT_EQ(bytes_.size, 0U);  // It has no keys any more.
  wq_bytes odd = WQ_NO_BYTES;
  odd.size = 1;
  seen.before = &odd;
  EXPECT_EQ(wq_source_observe(pods_, &seen, nullptr, nullptr, &error_), WQ_INVALID_ARGUMENT);
}

TEST_F(SourcesCTest, AListThatIsOverOrFreedIsRefused) {
  wq_source other = WQ_NO_SOURCE;
  EXPECT_EQ(wq_queue_open_source(queue_, "no name", &other, &error_), WQ_INVALID_ARGUMENT);
  const auto calls = [&](wq_source list) {
    const wq_code codes[] = {Observe(list, "o", "1"),
                             wq_source_next_deleted(list, &bytes_, &error_),
                             wq_source_end_list(list, nullptr, &error_)};
    return std::string(wq_code_name(codes[0])) + " " + wq_code_name(codes[1]) + " " +
           wq_code_name(codes[2]);
  };
  const std::string over = "InvalidArgument InvalidArgument InvalidArgument";
  const wq_source first = BeginList();
  const wq_source second = BeginList();
  EXPECT_EQ(calls(first), over);
  EXPECT_EQ(calls(second), "Ok NotFound Ok");
  EXPECT_EQ(calls(second), over);
  EXPECT_EQ(calls(pods_), "Ok InvalidArgument InvalidArgument");
  const wq_source removed = BeginList();
  ASSERT_EQ(wq_queue_remove_source(queue_, "pods", &error_), WQ_OK);
  EXPECT_EQ(calls(removed), over);
  EXPECT_STREQ(error_.message, "the list's source 'pods' was removed");
  EXPECT_EQ(Observe(pods_, "o", "1"), WQ_NOT_FOUND);
  ASSERT_EQ(wq_queue_open_source(queue_, "pods", &pods_, &error_), WQ_OK);
  ASSERT_EQ(wq_source_free(second, &error_), WQ_OK);
  const std::string freed = "BadHandle BadHandle BadHandle";
  EXPECT_EQ(calls(second), freed);
  EXPECT_EQ(calls({queue_.handle}), freed);
  const wq_source last = BeginList();
  ASSERT_EQ(wq_queue_close(queue_, &error_), WQ_OK);
  for (const wq_source by : {last, pods_}) {
    EXPECT_EQ(Observe(by, "o", "1"), WQ_SHUTTING_DOWN);
  }
  ASSERT_EQ(wq_store_free(store_, &error_), WQ_OK);
  EXPECT_EQ(calls(last), freed);
  EXPECT_EQ(wq_source_free(pods_, &error_), WQ_BAD_HANDLE);
}

TEST_F(SourcesCTest, ACallOfAListInItsOwnCallbackIsRefused) {
  struct Called {
    wq_source list;
    wq_code codes[3];
  } called{};
  auto options = Sized<wq_queue_options>();
  options.group_arg = &called;
  options.group_of = [](void* arg, const char*, size_t, char*, size_t) {
    auto* const by = static_cast<Called*>(arg);
    auto seen = Sized<wq_observation>();
    seen.object = "x";
    seen.object_size = 1;
    by->codes[0] = wq_source_observe(by->list, &seen, nullptr, nullptr, nullptr);
    by->codes[1] = wq_source_end_list(by->list, nullptr, nullptr);
    by->codes[2] = wq_source_free(by->list, nullptr);
    return size_t{0};
  };
  ASSERT_EQ(wq_store_open_queue(store_, "grouped", &options, &queue_, &error_), WQ_OK);
  ASSERT_EQ(wq_queue_open_source(queue_, "pods", &pods_, &error_), WQ_OK);
  called.list = BeginList();
  ASSERT_EQ(Observe(called.list, "o", "1"), WQ_OK);
  for (const wq_code code : called.codes) {
    EXPECT_EQ(code, WQ_INVALID_ARGUMENT);
  }
  EXPECT_EQ(wq_source_end_list(called.list, nullptr, &error_), WQ_OK);
}

TEST_F(SourcesCTest, ListsAreFreedWhileThreadsCallThemAndTheirStoreEnds) {
  for (int round = 0; round < 5; ++round) {
    const wq_source list = BeginList();
    std::vector<std::thread> threads;
    for (const wq_source by : {pods_, list}) {
      threads.emplace_back([by] {
        auto seen = Sized<wq_observation>();
        seen.object = "o";
        seen.object_size = 1;
        wq_code code = WQ_OK;
        while (code == WQ_OK || code == WQ_SHUTTING_DOWN) {
          code = wq_source_observe(by, &seen, nullptr, nullptr, nullptr);
        }
        EXPECT_EQ(code, WQ_BAD_HANDLE);
      });
    }
    wq_source others = WQ_NO_SOURCE;
    ASSERT_EQ(wq_queue_open_source(queue_, "others", &others, nullptr), WQ_OK);
    std::vector<wq_source> begun;
    threads.emplace_back([others, &begun] {
      for (wq_code code = WQ_OK; code == WQ_OK || code == WQ_SHUTTING_DOWN;) {
        wq_source next = WQ_NO_SOURCE;
        code = wq_source_begin_list(others, nullptr, &next, nullptr);
        begun.push_back(next);
      }
    });
    threads.emplace_back([list] {
      const wq_code code = wq_source_free(list, nullptr);
      EXPECT_TRUE(code == WQ_OK || code == WQ_BAD_HANDLE) << code;
    });
    EXPECT_EQ(wq_store_free(store_, nullptr), WQ_OK);
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const wq_source each : begun) {  // The store has freed all of them.
      EXPECT_EQ(wq_source_free(each, nullptr), WQ_BAD_HANDLE);
    }
    Open();
  }
}

}  // namespace
}  // namespace wq::c

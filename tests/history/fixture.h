// HistoryTest: a store with a history, in a scratch directory, with a clock that is moved by hand.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/environment.h"
#include "wq/clock.h"
#include "wq/history.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {

class HistoryTest : public ::testing::Test {
 protected:
  void Open(size_t bytes = size_t{8} << 20) {
    StoreOptions options;
    options.create_if_missing = true;
    options.clock = &clock_;
    options.history_bytes = bytes;
    options.history_age = age_;
    const Status s = Store::Open(options, dir(), &store_);
    ASSERT_TRUE(s.ok()) << s.ToString();
    ASSERT_TRUE(store_->OpenQueue("q", queue_options_, &queue_).ok());
  }
  void Close() {
    ASSERT_TRUE(store_->Close().ok());
    store_.reset();
  }
  std::string dir() const { return root_ / "store"; }

  std::string Get() {
    std::string key;
    return queue_->GetFor(std::chrono::microseconds(0), &key).ok() ? key : "";
  }
  KeyHistory Of(std::string_view key, size_t limit = 0) {
    KeyHistory history;
    const Status s = store_->History("q", key, limit, &history);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return history;
  }
  KeyHistory OfFiles(std::string_view key, size_t limit = 0) {
    KeyHistory history;
    const Status s = ReadHistory(dir(), "q", key, limit, &history);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return history;
  }
  // The kinds as numbers, with the count of deduplicated Adds: "1 2x3 4".
  static std::string KindsOf(const KeyHistory& history) {
    std::string text;
    for (const HistoryEvent& event : history.events) {
      text += (text.empty() ? "" : " ") + std::to_string(static_cast<int>(event.kind));
      if (event.count != 1) text += "x" + std::to_string(event.count);
    }
    return text;
  }
  std::vector<std::string> Segments() const {
    std::vector<std::string> paths;
    if (std::filesystem::exists(dir() + "/history")) {
      for (const auto& entry : std::filesystem::directory_iterator(dir() + "/history")) {
        paths.push_back(entry.path());
      }
    }
    return paths;
  }
  uint64_t BytesOnDisk() const {
    uint64_t bytes = 0;
    for (const std::string& path : Segments()) bytes += std::filesystem::file_size(path);
    return bytes;
  }

  support::ScratchDirectory root_;
  ManualClock clock_;
  std::chrono::microseconds age_{0};
  QueueOptions queue_options_;
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
};

}  // namespace wq

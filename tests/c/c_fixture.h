// CTest: a store in memory with a queue, through the C interface.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "wq/wq.h"

namespace wq::c {

// A struct that begins with its size, otherwise of zeros.
template <typename T>
T Sized() {
  T sized{};
  sized.size = sizeof sized;
  return sized;
}

class CTest : public ::testing::Test {
 protected:
  CTest() {
    EXPECT_EQ(wq_store_open_in_memory(nullptr, &store_, &error_), WQ_OK) << error_.message;
  }
  ~CTest() override {
    wq_bytes_free(&bytes_);
    const wq_code code = wq_store_free(store_, &error_);
    EXPECT_TRUE(code == WQ_OK || code == WQ_BAD_HANDLE) << error_.message;
  }

  void OpenQueue(const wq_queue_options* options = nullptr) {
    ASSERT_EQ(wq_store_open_queue(store_, "q", options, &queue_, &error_), WQ_OK) << error_.message;
  }
  wq_code Add(std::string_view key) {
    return wq_queue_add(queue_, key.data(), key.size(), nullptr, nullptr, &error_);
  }
  wq_code Done(std::string_view key) {
    return wq_queue_done(queue_, key.data(), key.size(), &error_);
  }
  wq_counts Counts() {
    auto counts = Sized<wq_counts>();
    EXPECT_EQ(wq_queue_counts(queue_, &counts, &error_), WQ_OK);
    return counts;
  }
  // The next key, or the name of the code.
  std::string Get(int64_t timeout_us = 0) {
    const wq_code code = wq_queue_get(queue_, timeout_us, &bytes_, &error_);
    return code == WQ_OK ? std::string(bytes_.data, bytes_.size) : wq_code_name(code);
  }

  wq_error error_{};
  wq_bytes bytes_ = WQ_NO_BYTES;
  wq_store store_ = WQ_NO_STORE;
  wq_queue queue_ = WQ_NO_QUEUE;
};

}  // namespace wq::c

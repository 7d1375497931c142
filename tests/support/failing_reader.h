// FailingReader: a reader of which one call fails, so that a test can check that a failed read is
// reported, and not taken for less data.
//
//   ForEachFailingRead(storage, [](const storage::Reader& reader) { return Recover(reader, …); });
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "storage/storage.h"

namespace wq::support {

class FailingReader final : public storage::Reader {
 public:
  // The call number `fails_at`, from 0, fails.
  FailingReader(const storage::Reader& reader, uint64_t fails_at)
      : reader_(reader), left_(fails_at) {}

  Status Get(storage::Family family, std::string_view key, std::string* value) const override {
    return Fails() ? Failure() : reader_.Get(family, key, value);
  }
  Status Scan(storage::Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    return Fails() ? Failure() : reader_.Scan(family, begin, end, visit);
  }
  bool failed() const { return failed_; }

 private:
  bool Fails() const {
    failed_ = failed_ || left_ == 0;
    return left_-- == 0;
  }
  static Status Failure() { return Status::IOError("a read that fails"); }

  const storage::Reader& reader_;
  mutable uint64_t left_;
  mutable bool failed_ = false;
};

// Runs `read` once for each of its calls, which fails: `read` must return the error.
inline void ForEachFailingRead(const storage::Reader& good,
                               const std::function<Status(const storage::Reader&)>& read) {
  for (uint64_t at = 0;; ++at) {
    ASSERT_LT(at, 1000U);
    const FailingReader reader(good, at);
    const Status s = read(reader);
    if (!reader.failed()) {
      EXPECT_TRUE(s.ok()) << s.message();
      EXPECT_GT(at, 0U) << "nothing was read";
      return;
    }
    EXPECT_EQ(s.code(), StatusCode::kIOError) << "read " << at << ": " << s.message();
  }
}

}  // namespace wq::support

#include "engine/read_ahead.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace wq {
namespace {

// Hands out numbered records, and fails after the last one.
class Numbers final : public storage::Reader {
 public:
  Numbers(size_t count, Status end) : count_(count), end_(std::move(end)) {}
  // Numbers of one length, so that their order is that of their bytes.
  static std::string Key(size_t i) { return std::to_string(100'000 + i); }
  Status Get(storage::Family, std::string_view, std::string*) const override { return end_; }
  Status Scan(storage::Family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override {
    EXPECT_EQ(end, "end");
    for (size_t i = 0; i < count_; ++i) {
      if (Key(i) >= begin && !visit(Key(i), std::string(i % 1000, 'v'))) {
        return {};
      }
    }
    return end_;
  }

 private:
  const size_t count_;
  const Status end_;
};

// Scans until `most` records were visited; returns how many were.
size_t Visit(const Numbers& numbers, size_t most, Status* status) {
  size_t seen = 0;
  *status = ReadAhead(numbers).Scan(storage::Family::kDirty, "", "end",
                                    [&](std::string_view key, std::string_view value) {
                                      EXPECT_EQ(key, Numbers::Key(seen));
                                      EXPECT_EQ(value, std::string(seen % 1000, 'v'));
                                      return ++seen < most;
                                    });
  return seen;
}

TEST(ReadAhead, VisitsEveryRecordOnceAndInOrder) {
  for (const size_t count : {0U, 1U, 10U, 5000U}) {
    Status status;
    EXPECT_EQ(Visit(Numbers(count, {}), SIZE_MAX, &status), count);
    EXPECT_TRUE(status.ok());
  }
}

TEST(ReadAhead, ReportsAnErrorAfterTheRecordsBeforeIt) {
  Status status;
  EXPECT_EQ(Visit(Numbers(3000, Status::Corruption("here")), SIZE_MAX, &status), 3000U);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_EQ(status.message(), "here");
}

TEST(ReadAhead, StopsWhenTheVisitorDoes) {
  for (const size_t most : {1U, 500U, 3000U}) {
    Status status;
    EXPECT_EQ(Visit(Numbers(5000, Status::Corruption("beyond")), most, &status), most);
    EXPECT_TRUE(status.ok()) << "what lies beyond the last record that was wanted counts";
  }
}

}  // namespace
}  // namespace wq

// ReplicatedLogContract: what include/wq/replicated_log.h promises, as tests that each
// implementation passes. A test binary links wq_log_contract and names its implementation:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, ReplicatedLogContract, testing::Values(LogSubject{…}));
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "tests/support/wait.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq {

inline void PrintTo(const Status& status, std::ostream* os) { *os << status.ToString(); }

namespace replication {

// An implementation to be tested.
struct LogSubject {
  std::string name;
  // Makes a log that is empty and shared with nobody.
  std::function<std::shared_ptr<ReplicatedLog>()> make;
  // Lets the time of the leases pass. Empty: it passes by itself.
  std::function<void(std::chrono::milliseconds)> advance = {};
  // Of each ownership. The tests of its end wait for it unless there is an `advance`.
  std::chrono::milliseconds lease{2000};
};
inline void PrintTo(const LogSubject& subject, std::ostream* os) { *os << subject.name; }

// No wait of these tests takes longer unless it fails.
using support::kPatience;

#define EXPECT_OK(expression) EXPECT_EQ((expression).ToString(), "Ok")
#define ASSERT_OK(expression) ASSERT_EQ((expression).ToString(), "Ok")
#define EXPECT_CODE(expected, expression)                                                \
  do {                                                                                   \
    const ::wq::Status expect_code = (expression);                                       \
    EXPECT_EQ(expect_code.code(), ::wq::StatusCode::expected) << expect_code.ToString(); \
  } while (false)

class ReplicatedLogContract : public testing::TestWithParam<LogSubject> {
 protected:
  ReplicatedLogContract() : log_(GetParam().make()) {}

  LogLease Own(std::string_view name);  // Acquires.
  // Lets the lease of the owner run out, and waits until the log has seen it.
  void EndLease();
  LogState State();
  std::string Owner();  // Its name; empty: none.
  // The entries from `sequence` on: "2=b 3=c", or the error.
  std::string Entries(LogSequence sequence, size_t max_bytes = SIZE_MAX);
  // Appends the letters as entries of one byte, from `sequence` on.
  void Fill(const LogLease& lease, LogSequence sequence, std::string_view letters);

  const std::shared_ptr<ReplicatedLog> log_;
};

// What a follower has seen.
class Watch {
 public:
  Watch(ReplicatedLog* log, LogSequence sequence) : follower_(log->Follow(sequence)) {}

  // Follows until `done`, or for kPatience. Returns the error of Next, or TimedOut.
  Status Until(const std::function<bool()>& done);
  Status UntilEntries(std::string_view text);
  // Follows until the owner's name is `name`; empty: until there is none.
  Status UntilOwner(std::string_view name);

  LogFollower& follower() { return *follower_; }
  // "2=b 3=c", in the order in which they were reported.
  std::string Text() const;
  const LogEvents& events() const { return events_; }

 private:
  std::unique_ptr<LogFollower> follower_;
  LogEvents events_;
};

}  // namespace replication
}  // namespace wq

// EtcdTest: what the tests of EtcdLog need: logs, an owner, and entries to append.
//
// Threading: thread-compatible. Lifetime: the test's. A crash: ends the test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/etcd/cluster.h"
#include "tests/support/wait.h"
#include "wq/etcd_log.h"
#include "wq/replicated_log.h"

namespace wq {

inline constexpr std::chrono::milliseconds kLease{600'000};
inline constexpr std::chrono::milliseconds kTestPatience = support::kPatience;

inline std::shared_ptr<ReplicatedLog> OpenLog(const EtcdOptions& options) {
  std::shared_ptr<ReplicatedLog> log;
  const Status s = OpenEtcdLog(options, &log);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return log;
}

// Waits until the call is Ok, as a store repeats calls that return IOError.
template <typename Call>
Status UntilDone(const Call& call) {
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  Status s = call();
  while (s.code() == StatusCode::kIOError && std::chrono::steady_clock::now() < deadline) {
    s = call();
  }
  return s;
}

inline std::string BytesOf(LogSequence sequence) { return "entry " + std::to_string(sequence); }

// Appends the entries from `begin` to `end`, both included.
inline Status AppendAll(ReplicatedLog* log, const LogLease& owned, LogSequence begin,
                        LogSequence end) {
  for (LogSequence i = begin; i <= end; ++i) {
    if (Status s = UntilDone([&] { return log->Append(owned.epoch, i, BytesOf(i)); }); !s.ok()) {
      return s;
    }
  }
  return {};
}

// "3:entry 3 4:entry 4"
inline std::string Text(const std::vector<LogEntry>& entries) {
  std::string text;
  for (const LogEntry& entry : entries) {
    text += (text.empty() ? "" : " ") + std::to_string(entry.sequence) + ":" + entry.bytes;
  }
  return text;
}

inline std::string Expected(LogSequence begin, LogSequence end) {
  std::vector<LogEntry> entries;
  for (LogSequence i = begin; i <= end; ++i) {
    entries.push_back({i, BytesOf(i)});
  }
  return Text(entries);
}

// All entries that are kept.
inline std::string AllOf(ReplicatedLog* log) {
  LogState state;
  Status s = UntilDone([&] { return log->State(&state); });
  std::vector<LogEntry> entries;
  if (s.ok()) s = log->Read(state.first, SIZE_MAX, &entries);
  return s.ok() ? Text(entries) : s.ToString();
}

// Follows until `count` entries have come, or the owner or successor, if `count` is 0. IOError is
// passed over.
inline LogEvents Collect(LogFollower* follower, size_t count) {
  LogEvents events;
  const auto deadline = std::chrono::steady_clock::now() + kTestPatience;
  Status s;
  const auto enough = [&] {
    return count == 0 ? events.owner || events.successor : events.entries.size() >= count;
  };
  while (!enough() && std::chrono::steady_clock::now() < deadline &&
         (s.ok() || s.code() == StatusCode::kIOError)) {
    s = follower->Next(std::chrono::seconds(1), &events);
  }
  EXPECT_TRUE(enough()) << s.ToString();
  return events;
}

class EtcdTest : public testing::Test {
 protected:
  // The same log, for requests that etcd will not answer: it waits for a short time only.
  std::shared_ptr<ReplicatedLog> Impatient() const {
    EtcdOptions options = etcd_->Options("/wq/test");
    options.request_timeout = std::chrono::milliseconds(400);
    return OpenLog(options);
  }
  // A log, of one member unless the options say more, and its owner.
  void StartOne(EtcdClusterOptions options = {}) {
    etcd_ = std::make_unique<EtcdCluster>(std::move(options));
    EtcdOptions log = etcd_->Options("/wq/test");
    // Of several members, one that is stopped gets half of it.
    if (etcd_->size() == 1) log.request_timeout = kTestPatience;
    log_ = OpenLog(log);
    Own();
  }
  // The members, when one of them says that it leads.
  std::vector<LogMember> LedMembers() const {
    std::vector<LogMember> members;
    EXPECT_TRUE(support::Eventually([&] {
      members = log_->Members();
      return std::ranges::any_of(members, &LogMember::leads);
    }));
    return members;
  }
  void Own() {
    const Status s = UntilDone([this] { return log_->Acquire("a", kLease, &owned_); });
    ASSERT_TRUE(s.ok()) << s.ToString();
  }

  std::unique_ptr<EtcdCluster> etcd_;
  std::shared_ptr<ReplicatedLog> log_;
  LogLease owned_;
};

// The code and the texts of an error.
testing::AssertionResult inline IsError(const Status& s, StatusCode code,
                                        const std::vector<std::string>& texts) {
  bool all = s.code() == code;
  for (const std::string& text : texts) {
    all = all && s.message().find(text) != std::string::npos;
  }
  return all ? testing::AssertionSuccess() : testing::AssertionFailure() << s.ToString();
}

}  // namespace wq

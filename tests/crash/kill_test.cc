// A process that works on a store is killed with SIGKILL at a random instant, again and again, and
// what is on disk is compared with the model.
//
// The property: what survives is a prefix of the calls, in their order, with no hole and no half
// call; and at kProcess it ends at or after the last acknowledged call that waits for the disk.
// (Get writes nothing and Done may be written later: their loss repeats a reconcile.)
//
// WQ_KILL_SEED picks the seed (a failing run prints its own), WQ_KILL_ROUNDS how many kills.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/rocksdb_storage.h"
#include "tests/model/call_source.h"
#include "tests/model/dump_records.h"
#include "tests/model/naive_queue.h"
#include "tests/model/real_queue.h"

namespace wq::model {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const QueueOptions kRules{.order = Order::kTwoLanes, .max_requeues = 3};  // As in child.cc.

// What the child had reported by the time it died.
struct Reports {
  uint64_t begun = 0;
  std::vector<std::string> results;  // Of the calls that returned.
  int wait_status = 0;
};

// The child under execution. It is exec'd, not forked: a fork of a process that had RocksDB open
// hangs.
class Child {
 public:
  explicit Child(std::vector<std::string> args) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    std::vector<char*> argv;
    for (std::string& arg : args) {
      argv.push_back(arg.data());
    }
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fds[1], STDOUT_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(fds[1]);
    out_ = fds[0];
  }

  // Kills after `events` bytes of reports, or after `patience_ms`, whichever comes first.
  Reports KillAfter(size_t bytes, int patience_ms) {
    std::string text;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
    for (bool killed = false;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      if (!killed && (text.size() >= bytes || left.count() <= 0)) {
        kill(pid_, SIGKILL);
        killed = true;
      }
      pollfd ready{.fd = out_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, killed ? -1 : static_cast<int>(left.count())) == 0) {
        continue;
      }
      char buffer[4096];
      const ssize_t n = read(out_, buffer, sizeof buffer);
      if (n <= 0) {
        break;
      }
      text.append(buffer, static_cast<size_t>(n));
    }
    Reports reports;
    waitpid(pid_, &reports.wait_status, 0);
    close(out_);
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      if (text[at] == 'b') {
        ++reports.begun;
      } else {
        reports.results.push_back(text.substr(at + 2, end - at - 2));
      }
    }
    return reports;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

class KillTest : public ::testing::TestWithParam<Durability> {
 protected:
  KillTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wq-kill-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    dir_ = root_ + "/store";
  }
  ~KillTest() override { std::filesystem::remove_all(root_); }

  Call NextCall() {
    Call call = source_->Next();
    if (call.op == Op::kCrash) {
      call.op = Op::kGet;
    }
    return call;
  }

  std::string OnDisk() {
    std::unique_ptr<storage::Reader> reader;
    const Status s = storage::OpenRocksdbReader(dir_, &reader);
    if (s.code() == StatusCode::kNotFound) {
      return "| pending | delayed | failing | quarantined | cursors";  // Killed before the store was made.
    }
    EXPECT_TRUE(s.ok()) << s.ToString();
    return s.ok() ? DumpRecords(*reader) : "";
  }

  uint64_t CheckResults(const std::vector<Call>& calls, const std::vector<std::string>& results);
  void Round(uint64_t round);

  std::string root_;
  std::string dir_;
  uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::optional<CallSource> source_;
  std::optional<NaiveQueue> model_;
  uint64_t done_calls_ = 0;  // Calls that the disk has; the next child goes on behind them.
  uint64_t acknowledged_ = 0;
};

// Compares what the calls returned with the model. Returns the last of them that must be on disk.
uint64_t KillTest::CheckResults(const std::vector<Call>& calls,
                                const std::vector<std::string>& results) {
  NaiveQueue model = *model_;
  model.Do({.op = Op::kCrash});  // What the child has recovered from.
  uint64_t durable = 0;
  for (uint64_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i], model.Do(calls[i])) << "call " << i + 1 << ": " << calls[i].ToString();
    if (GetParam() != Durability::kAsync) {
      durable = std::max(durable, model.stands_on());
    }
  }
  return durable;
}

void KillTest::Round(uint64_t round) {
  const bool in_recovery = random_() % 10 < 3;
  const size_t bytes = in_recovery ? 1 : 1 + random_() % 20000;
  const int patience_ms = in_recovery ? static_cast<int>(random_() % 12) : 10'000;
  Child child({WQ_KILL_CHILD, dir_, std::to_string(seed_), std::to_string(done_calls_),
               std::to_string(model_->wall_us()), std::to_string(static_cast<int>(GetParam()))});
  const Reports reports = child.KillAfter(bytes, patience_ms);
  ASSERT_TRUE(WIFSIGNALED(reports.wait_status))
      << "round " << round << ": the child ended by itself";
  acknowledged_ += reports.results.size();

  // After which calls may the disk stand? The model is taken through all of them.
  std::vector<Call> calls;
  for (uint64_t i = 0; i < reports.begun; ++i) {
    calls.push_back(NextCall());
  }
  const uint64_t durable = CheckResults(calls, reports.results);
  const std::string on_disk = OnDisk();
  std::optional<uint64_t> matched;
  std::optional<NaiveQueue> recovered;
  std::string candidates;
  const auto compare = [&](uint64_t calls_made) {
    const std::string expected = model_->DumpRecords();
    if (expected == on_disk) {
      matched = calls_made;
      recovered = model_;  // The last that fits: calls in between changed nothing on disk.
    } else if (candidates.size() < 4000) {
      candidates += std::to_string(calls_made) + ": " + expected + "\n";
    }
  };
  if (durable == 0) {
    compare(0);  // The child may have died before it had recovered.
  }
  model_->Do({.op = Op::kCrash});
  for (uint64_t i = 0; i <= reports.begun; ++i) {
    if (i >= durable) {
      compare(i);
    }
    if (i < reports.begun) {
      model_->Do(calls[i]);
    }
  }
  ASSERT_TRUE(matched.has_value()) << "round " << round << ": on disk after " << reports.begun
                                   << " calls, " << reports.results.size() << " acknowledged:\n"
                                   << on_disk << "\nexpected one of\n"
                                   << candidates;
  model_ = recovered;
  // Calls that left no trace are made again by the next child, and answer the same.
  source_.emplace(kRules, seed_);
  done_calls_ += *matched;
  for (uint64_t i = 0; i < done_calls_; ++i) {
    source_->Next();
  }
}

TEST_P(KillTest, WhatSurvivesIsAPrefixWithAllThatWasAcknowledged) {
  seed_ = FromEnvironment("WQ_KILL_SEED", std::random_device{}());
  const uint64_t rounds = FromEnvironment("WQ_KILL_ROUNDS", 60);
  std::cout << "replay with WQ_KILL_SEED=" << seed_ << " WQ_KILL_ROUNDS=" << rounds << "\n";
  random_.seed(seed_);
  source_.emplace(kRules, seed_);
  model_.emplace(kRules, kStartWallUs);
  for (uint64_t round = 0; round < rounds && !HasFatalFailure(); ++round) {
    Round(round);
  }
  std::cout << rounds << " kills, " << acknowledged_ << " acknowledged calls\n";
  EXPECT_GT(acknowledged_, rounds * 100);  // A run with little traffic proves little.
}

INSTANTIATE_TEST_SUITE_P(Durabilities, KillTest,
                         ::testing::Values(Durability::kAsync, Durability::kProcess,
                                           Durability::kPower),
                         [](const auto& info) {
                           return std::string(info.param == Durability::kAsync     ? "Async"
                                              : info.param == Durability::kProcess ? "Process"
                                                                                   : "Power");
                         });

}  // namespace
}  // namespace wq::model

// Oracle: judges what a crash has left of a store. It knows every call that was begun, and the
// results of those that returned. From them the naive model gives all states that the disk may be
// in: that of all acknowledged calls, with a prefix of the others.
//
//   Oracle oracle(AllPolicies(), kStartWallUs);
//   ... a process works, reports its calls, and is killed ...
//   EXPECT_EQ(oracle.Judge(life, found), "");
//
// After a judgement that finds nothing wrong the oracle has the state of the disk, and the next
// life may begin.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/naive_store.h"
#include "tests/support/store_calls.h"
#include "wq/status.h"

namespace wq::support {

enum class CrashKind : uint8_t {
  kKill,      // Bytes that were written to the operating system survive.
  kPowerCut,  // Bytes that were synced survive.
};

// The result of a call that was applied in memory, while its outcome on disk is unknown.
inline constexpr const char* kNotDurable = "NotDurable";

// The work of one process on the store, from its opening to its crash.
struct Life {
  std::vector<StoreCall> calls;             // In the order in which they were begun.
  std::vector<std::string> results;         // Of the first calls: those that returned.
  Durability level = Durability::kProcess;  // Of calls without a durability.
  CrashKind crash = CrashKind::kKill;
};

// The Life of a child that reports each call by a line "b" when it begins and a line "a RESULT",
// packed (draw.h), when it has returned (tests/crash/child.cc). The child drew its calls from a
// source like `source`. All other lines are ignored.
Life ReadReports(const std::string& reports, StoreSource source);

class Oracle {
 public:
  Oracle(const std::vector<QueueRules>& rules, int64_t wall_us);

  // Compares the results of the life, and the store that was found on disk after the crash, with
  // the model. Returns what is wrong, or "". A life without calls ended during its recovery, or
  // right after it.
  std::string Judge(const Life& life, const StoreImage& found);

  // The time of the last found state: the next life's clock begins with it.
  int64_t wall_us() const { return model_.wall_us(); }
  // How many calls of the judged life are on disk.
  uint64_t survived() const { return survived_; }

 private:
  // Sets `durable` to the last call that must be on disk.
  std::string CheckResults(const Life& life, uint64_t* durable) const;
  bool Match(const Life& life, uint64_t durable, const StoreImage& found);
  std::string Difference(const Life& life, uint64_t durable, const StoreImage& found) const;

  const std::vector<QueueRules> rules_;
  NaiveStore model_;
  uint64_t survived_ = 0;
};

}  // namespace wq::support

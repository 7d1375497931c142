// Oracle: judges what a crash has left of a store. It knows every call that was begun, and the
// results of those that returned. From them the naive model gives all states that the disk may be
// in, and so for each fact ("k is pending in fast") whether it is acknowledged, absent, or unknown.
//
//   Oracle oracle(AllPolicies(), kStartWallUs);
//   ... a process works, reports its calls, and is killed ...
//   for (const Violation& v : oracle.Judge(life, found)) ADD_FAILURE() << v.ToString();
//
// A disk that is in none of these states violates a property; the properties are numbered as in
// docs/testing.md. After a judgement without violations the oracle has the state of the disk, and
// the next life may begin.
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

enum class Property : uint8_t {
  kNoLostCall = 1,         // All acknowledged calls are on disk, and of the others a prefix.
  kAtMostOnce = 2,         // An unacknowledged call is on disk wholly or not at all, and once.
  kOneState = 3,           // A key is at most once queued and at most once delayed.
  kOneHolder = 4,          // No two workers hold one key, or two keys of one shard.
  kProcessingReturns = 5,  // A key that was processing at the crash is dirty, once.
  kNoResurrection = 6,     // A key that was durably Done or removed does not return.
  kOrder = 7,              // First in, first out within lane and shard; lanes are kept.
  kReadyTime = 8,          // A delay is never early and never lost; the earliest wins.
  kFailureCount = 9,       // Failures are counted once each, and forgotten by Forget only.
  kConsistency = 10,       // The families agree with each other, and the counters with the rows.
  kCursor = 11,            // All keys that were added before the found cursor are on disk.
  kShutDown = 12,          // No Add after ShutDown; close and open give the same state.
  kRecoveryIsRepeatable = 13,  // A crash during recovery changes nothing.
  kNoSilentDamage = 14,        // Damage is reported, with the file, and never taken for less data.
  kBytesOrRefused = 15,  // Input is taken byte for byte, or refused before anything is written.
  kBounded = 16,         // Memory, log, tables and descriptors stay bounded.
};
const char* NameOf(Property property);

struct Violation {
  Property property = Property::kNoLostCall;
  std::string what;
  std::string ToString() const;
};

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

enum class Known : uint8_t { kAbsent, kUnknown, kAcknowledged };

class Oracle {
 public:
  Oracle(const std::vector<QueueRules>& rules, int64_t wall_us);

  // Compares the store that was found on disk after the crash. A life without calls ended during
  // its recovery, or right after it.
  std::vector<Violation> Judge(const Life& life, const StoreImage& found);

  // The time of the last found state: the next life's clock begins with it.
  int64_t wall_us() const { return model_.wall_us(); }
  // How many calls of the judged life are on disk.
  uint64_t survived() const { return survived_; }

 private:
  struct Candidate;
  using Facts = std::map<std::string, std::string>;  // From "queue kind key" to the fact's value.

  // Sets `durable` to the last call that must be on disk.
  std::vector<Violation> CheckResults(const Life& life, uint64_t* durable) const;
  bool Match(const Life& life, uint64_t durable, const StoreImage& found);
  std::vector<Violation> Diagnose(const Life& life, uint64_t durable,
                                  const StoreImage& found) const;
  std::vector<Candidate> Candidates(const Life& life, uint64_t durable) const;
  Facts FactsOf(const StoreImage& image) const;
  void CompareFacts(const std::vector<Candidate>& candidates, const StoreImage& found,
                    std::vector<Violation>* violations) const;
  void CompareOrders(const std::vector<Candidate>& candidates, const StoreImage& found,
                     std::vector<Violation>* violations) const;

  const std::vector<QueueRules> rules_;
  NaiveStore model_;
  uint64_t survived_ = 0;
};

// The property that a call violates if its result differs from the model's. Concerns the call, not
// a crash.
Property PropertyOf(const StoreCall& call, const std::string& said, const NaiveStore& before);

}  // namespace wq::support

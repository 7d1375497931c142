// Simulation: replicas of one store in one thread, with copies and a log in memory, on a clock that
// stands. Each step is drawn from the seed: a write, a crash, a pause, a request that comes again,
// …
//
//   Simulation simulation(seed);
//   simulation.Run();           // Failures are those of the test.
//
// The engine's part (engine/replication/replica_node.cc), which has threads, is done by the steps:
// they use LocalReplica, ReplicatedStorage, checkpoints and Maintenance in the same order.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/replication/maintenance.h"
#include "storage/local_replica.h"
#include "storage/replicated_storage.h"
#include "tests/replication/log_oracle.h"
#include "tests/support/faulty_log.h"
#include "tests/support/memory_log.h"
#include "tests/support/memory_storage.h"
#include "wq/clock.h"

namespace wq::replication {

class Simulation {
 public:
  // How often what a simulation is for has happened.
  struct Counts {
    uint64_t acknowledged = 0;
    uint64_t refused = 0;
    uint64_t unknown = 0;
    uint64_t ownerships = 0;
    uint64_t with_ahead = 0;
    uint64_t crashes = 0;
    uint64_t seeds = 0;
  };

  explicit Simulation(uint64_t seed);

  // Stops at the first failure of the test.
  void Run();
  const Counts& counts() const { return counts_; }

 private:
  struct Node {
    std::string name;
    std::shared_ptr<storage::MemoryDisk> disk;
    std::unique_ptr<storage::MemoryStorage> base;
    std::unique_ptr<storage::LocalReplica> copy;
    std::shared_ptr<support::FaultyLog> link;
    std::unique_ptr<LogFollower> follower;
    bool must_seed = false;
    // As an owner, or one that believes to be.
    std::unique_ptr<storage::ReplicatedStorage> owner;
    LogLease lease;
    bool paused = false;
    std::string in_flight;  // The write that failed; empty: none has since the last Reopen.
    std::deque<std::pair<LogSequence, uint64_t>> sizes;
  };

  static constexpr std::chrono::milliseconds kLease{10'000};

  // --- The steps ---
  void Step();
  void Write(Node* node);
  void Reopen(Node* node);
  void Maintain(Node* node);
  void Resign(Node* node);
  void Stall(Node* node);
  void TakeOver(Node* node);
  void Follow(Node* node);
  void CatchUp(Node* node);
  void Seed(Node* node);
  void Crash(Node* node);
  void Wipe(Node* node);
  void PassTime();

  // --- Their parts ---
  // Fails the test if a call ended otherwise than with Ok or one of these.
  static void ExpectOneOf(const Status& status, std::initializer_list<StatusCode> codes,
                          const char* call);
  void Start(Node* node);
  void Lose(Node* node, std::string ahead);
  void KeepAhead(Node* node, const std::string& mutations);
  void NoteOwner(const Node& node);
  std::string Key();
  std::string Batch(storage::MutationBatch* batch);
  // A request of some node, an owner's of now or once, comes again.
  void Replay() { nodes_[Random(nodes_.size())].link->Replay(random_()); }
  void FailDiskSoon(Node* node);
  void HealDisk(Node* node);
  support::FaultyLog::Fault FaultOf(std::string_view call);
  void Check();
  void CompareAtTheEnd();

  uint64_t Random(uint64_t below) { return random_() % below; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }

  std::mt19937_64 random_;
  ManualClock clock_;
  const std::shared_ptr<support::MemoryLog> log_;
  LogOracle oracle_;
  const bool large_;         // Some groups have several entries.
  const bool long_keys_;     // Some rows have keys of up to 64 KiB.
  const uint64_t rows_;      // A batch has up to so many more rows.
  const uint64_t fault_in_;  // One call of so many fails; 0: none.
  Maintenance::Options maintenance_;
  uint64_t calls_until_cut_ = UINT64_MAX;  // After so many calls none reaches the log.
  bool ending_ = false;                    // Nothing fails any more.
  uint64_t writes_ = 0;
  Counts counts_;
  std::vector<Node> nodes_;
};

}  // namespace wq::replication

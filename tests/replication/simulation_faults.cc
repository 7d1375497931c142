// Simulation: what fails, and what is checked.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "storage/records.h"
#include "tests/replication/simulation.h"

namespace wq::replication {

using storage::LocalReplica;
using storage::MemoryDisk;
using storage::MemoryStorage;
using storage::MutationBatch;
using support::FaultyLog;

// --- Faults ---

void Simulation::Start(Node* node) {
  HealDisk(node);
  node->follower.reset();
  node->owner.reset();
  node->base = std::make_unique<MemoryStorage>(node->disk);
  node->copy = std::make_unique<LocalReplica>(node->base.get());
  const Status s = node->copy->Load();
  EXPECT_TRUE(s.ok()) << s.ToString();
  node->must_seed = false;
  node->paused = false;
}

void Simulation::Crash(Node* node) {
  ++counts_.crashes;
  if (node->owner != nullptr) {
    // Its process log has the write that is under way, and those that were to follow.
    std::string ahead = std::move(node->in_flight);
    for (uint64_t more = Random(3); more > 0; --more) {
      MutationBatch batch;
      ahead += Batch(&batch);
    }
    KeepAhead(node, ahead);
  }
  node->in_flight.clear();
  Start(node);
}

// Not the last copy.
void Simulation::Wipe(Node* node) {
  LogState state;
  EXPECT_TRUE(log_->State(&state).ok());
  if (!state.checkpoint.has_value()) return;
  node->in_flight.clear();
  node->owner.reset();
  node->follower.reset();
  oracle_.DropAhead(node->name);
  node->disk = std::make_shared<MemoryDisk>();
  node->base = std::make_unique<MemoryStorage>(node->disk);
  node->copy = std::make_unique<LocalReplica>(node->base.get());
  EXPECT_TRUE(node->copy->Begin(/*seeded=*/false).ok());
  Start(node);
}

// Two or three of these end a lease that is not renewed.
void Simulation::PassTime() {
  clock_.Advance(kLease / (2 + Random(2)));
  for (Node& node : nodes_) {
    if (node.owner == nullptr || node.paused) continue;
    const Status s = node.link->Renew(&node.lease);
    ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kNotOwner}, "Renew");
    if (s.code() == StatusCode::kNotOwner) Lose(&node, node.in_flight);
  }
}

void Simulation::FailDiskSoon(Node* node) {
  if (ending_) return;
  const MutexLock lock(node->disk->mu);
  node->disk->state.fail_after = Random(3);
  node->disk->state.apply_failed = OneIn(2);
}

void Simulation::HealDisk(Node* node) {
  const MutexLock lock(node->disk->mu);
  node->disk->state.fail_after = UINT64_MAX;
}

// --- Checks ---

void Simulation::Check() {
  oracle_.Look();
  for (const Node& node : nodes_) {
    storage::ReplicationRecord position;
    ASSERT_TRUE(storage::GetReplication(*node.base, &position).ok());
    ASSERT_LE(position.sequence, oracle_.last()) << "replica " << node.name << " is ahead";
  }
}

void Simulation::CompareAtTheEnd() {
  ending_ = true;
  for (Node& node : nodes_) {
    node.link->SetHook([](std::string_view) { return FaultyLog::Fault::kNone; });
    if (OneIn(2)) Replay();
    Start(&node);
  }
  clock_.Advance(2 * kLease);
  Replay();
  Check();
  oracle_.LookAgain();
  // Every copy gets there; the second time with what a checkpoint of the new owner makes possible.
  Node* owner = nullptr;
  for (int round = 0; round < 2; ++round) {
    for (Node& node : nodes_) {
      for (int i = 0; i < 3 && node.owner == nullptr; ++i) CatchUp(&node);
      if (owner == nullptr && node.copy->seeded() && !node.must_seed) {
        TakeOver(&node);
        ASSERT_NE(node.owner, nullptr) << "replica " << node.name << " cannot own the log";
        owner = &node;
        Write(owner);
        if (owner->owner == nullptr) return;  // The failure is reported.
        LogCheckpoint made;
        const Status s = owner->owner->WriteCheckpoint(/*now_us=*/1, &made);
        ASSERT_TRUE(s.ok()) << s.ToString();
      }
    }
    ASSERT_NE(owner, nullptr) << "no replica can own the log";
  }
  Wipe(&nodes_[owner == &nodes_[0] ? 1 : 0]);
  for (Node& node : nodes_) {
    for (int i = 0; i < 3 && node.owner == nullptr; ++i) CatchUp(&node);
    ASSERT_EQ(node.copy->position().sequence, oracle_.last()) << "replica " << node.name;
    ASSERT_TRUE(RowsOf(*node.base) == oracle_.rows())
        << "replica " << node.name << " has other rows than the log makes";
  }
  oracle_.CheckRefused();
}

}  // namespace wq::replication

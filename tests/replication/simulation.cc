#include "tests/replication/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <span>

#include "storage/records.h"
#include "tests/support/draw.h"

namespace wq::replication {

using std::chrono::milliseconds;
using storage::Family;
using storage::LocalReplica;
using storage::MemoryDisk;
using storage::MemoryStorage;
using storage::MutationBatch;
using storage::ReplicatedStorage;
using support::FaultyLog;

namespace {

constexpr int kSteps = 80;

}  // namespace

Simulation::Simulation(uint64_t seed)
    : random_(seed),
      log_(std::make_shared<support::MemoryLog>(&clock_)),
      oracle_(log_.get()),
      large_(OneIn(4)),
      long_keys_(OneIn(16)),
      rows_(OneIn(16) ? 300 : 0),
      fault_in_(OneIn(4) ? 0 : 4 + Random(30)) {
  maintenance_.min_checkpoint_bytes = OneIn(2) ? 0 : 2000;
  maintenance_.max_log_bytes = OneIn(2) ? 0 : size_t{1} << 20;
  maintenance_.min_truncated = 1 + Random(4);
  maintenance_.clock = &clock_;
  nodes_.resize(2 + Random(2));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.name = std::string(1, static_cast<char>('a' + i));
    node.link = std::make_shared<FaultyLog>(log_);
    node.link->SetHook([this](std::string_view call) { return FaultOf(call); });
    node.disk = std::make_shared<MemoryDisk>();
    node.base = std::make_unique<MemoryStorage>(node.disk);
    node.copy = std::make_unique<LocalReplica>(node.base.get());
    EXPECT_TRUE(node.copy->Begin(/*seeded=*/i == 0).ok());
  }
}

void Simulation::ExpectOneOf(const Status& status, std::initializer_list<StatusCode> codes,
                             const char* call) {
  const bool expected =
      status.ok() || std::find(codes.begin(), codes.end(), status.code()) != codes.end();
  EXPECT_TRUE(expected) << call << ": " << status.ToString();
}

void Simulation::Run() {
  for (int i = 0; i < kSteps && !testing::Test::HasFailure(); ++i) {
    Step();
    Check();
  }
  if (!testing::Test::HasFailure()) CompareAtTheEnd();
}

FaultyLog::Fault Simulation::FaultOf(std::string_view /*call*/) {
  if (calls_until_cut_ == 0) return FaultyLog::Fault::kBefore;
  if (calls_until_cut_ != UINT64_MAX && --calls_until_cut_ == 0) {
    return OneIn(2) ? FaultyLog::Fault::kBefore : FaultyLog::Fault::kAfter;
  }
  if (fault_in_ == 0 || !OneIn(fault_in_)) return FaultyLog::Fault::kNone;
  return OneIn(2) ? FaultyLog::Fault::kBefore : FaultyLog::Fault::kAfter;
}

void Simulation::Step() {
  Node* node = &nodes_[Random(nodes_.size())];
  const uint64_t step = Random(100);
  if (step < 8) {
    PassTime();
  } else if (step < 16) {
    Replay();
  } else if (step < 20) {
    Crash(node);
  } else if (step < 22) {
    Wipe(node);
  } else if (step < 24) {
    node->paused = !node->paused;
  } else if (node->owner != nullptr && !node->paused) {
    if (!node->in_flight.empty()) {
      if (OneIn(4)) Replay();
      Reopen(node);
    } else if (step < 40) {
      Maintain(node);
    } else if (step < 42) {
      Resign(node);
    } else if (step < 46) {
      Stall(node);
    } else {
      if (OneIn(10)) calls_until_cut_ = 1 + Random(3);
      if (OneIn(15)) FailDiskSoon(node);
      Write(node);
      calls_until_cut_ = UINT64_MAX;
      HealDisk(node);
      if (OneIn(8) && node->owner != nullptr) Crash(node);
    }
  } else if (node->owner == nullptr) {
    if (step < 40) {
      CatchUp(node);
    } else if (step < 65) {
      TakeOver(node);
    } else {
      Follow(node);
    }
  }
}

// Few keys. The last two are long in some simulations.
std::string Simulation::Key() {
  const uint64_t n = Random(6);
  return support::KeyOf(n, !long_keys_ || n < 4 ? 1 : n == 4 ? size_t{4096} : kMaxKeyBytes);
}

// Each batch is unlike all others, and the order of any two shows in the rows.
std::string Simulation::Batch(MutationBatch* batch) {
  const std::string number = std::to_string(++writes_);
  const bool many = large_ && OneIn(6);
  std::string value(many ? 60'000 + Random(120'000) : Random(200),
                    static_cast<char>('a' + writes_ % 26));
  if (many && OneIn(2)) {  // It stays as long when it is compressed.
    for (char& byte : value) byte = static_cast<char>(random_());
  }
  batch->Put(Family::kCursors, "w" + std::to_string(Random(20)), number + value);
  batch->Put(Family::kDirty, Key(), number);
  if (OneIn(2)) batch->Erase(Family::kDirty, Key());
  for (uint64_t more = rows_ > 0 && OneIn(4) ? support::DrawSize(&random_, rows_) : 0; more > 0;
       --more) {
    batch->Put(Family::kDirty, support::KeyOf(100 + more), number);
  }
  return std::string(batch->mutations());
}

// --- An owner's steps ---

void Simulation::Write(Node* node) {
  MutationBatch batch;
  std::string mutations = Batch(&batch);
  oracle_.Issued(mutations);
  const Status s = node->owner->Write(batch, /*sync=*/false);
  ASSERT_EQ(batch.mutations(), mutations) << "a Write has changed its batch";
  oracle_.Look();
  if (s.ok()) {
    ++counts_.acknowledged;
    oracle_.Acknowledged(mutations);
  } else if (s.code() == StatusCode::kNotOwner) {
    ++counts_.refused;
    oracle_.Refused(mutations);
    MutationBatch more;  // Acknowledged at kProcess.
    Lose(node, OneIn(2) ? Batch(&more) : "");
  } else {
    ExpectOneOf(s, {StatusCode::kIOError}, "Write");
    ++counts_.unknown;
    node->in_flight = std::move(mutations);
  }
}

void Simulation::Reopen(Node* node) {
  MutationBatch batch;
  batch.Put(Family::kDirty, "not", "written");
  EXPECT_FALSE(node->owner->Write(batch, false).ok()) << "a Write between a failed one and Reopen";
  const Status s = node->owner->Reopen();
  oracle_.Look();
  if (s.ok()) {
    oracle_.Acknowledged(node->in_flight);
    node->in_flight.clear();
  } else if (s.code() == StatusCode::kNotOwner || s.code() == StatusCode::kNotFound) {
    Lose(node, node->in_flight);
  } else {
    ExpectOneOf(s, {StatusCode::kIOError}, "Reopen");
  }
}

void Simulation::Maintain(Node* node) {
  if (OneIn(4)) calls_until_cut_ = 1 + Random(5);
  Maintenance::Options options = maintenance_;
  options.name = node->name;
  options.epoch = node->lease.epoch;
  LogState state;
  const Status s =
      Maintenance::Round(node->link.get(), node->owner.get(), options, &node->sizes, &state);
  calls_until_cut_ = UINT64_MAX;
  ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kNotOwner}, "Maintenance::Round");
}

void Simulation::Resign(Node* node) {
  node->owner->Cut(Status::NotOwner("resigned"));
  MutationBatch batch;
  batch.Put(Family::kDirty, "not", "written");
  EXPECT_EQ(node->owner->Write(batch, false).code(), StatusCode::kNotOwner);
  Lose(node, "");
}

// It stands while its lease runs out, and another replica may own the log meanwhile.
void Simulation::Stall(Node* node) {
  node->paused = true;
  clock_.Advance(kLease);
  Node* other = &nodes_[Random(nodes_.size())];
  if (other != node && other->owner == nullptr) {
    TakeOver(other);
    if (other->owner != nullptr && OneIn(2)) Write(other);
  }
  node->paused = false;
  if (OneIn(3)) Maintain(node);
  Write(node);
}

// `ahead`: what the owner has acknowledged at kProcess and does not know to be in the log.
void Simulation::Lose(Node* node, std::string ahead) {
  node->owner->Cut(Status::NotOwner("lost"));
  static_cast<void>(node->link->Release(node->lease));
  KeepAhead(node, ahead);
  node->owner.reset();
  node->in_flight.clear();
  HealDisk(node);
  const Status s = node->copy->EndOwnership();
  EXPECT_TRUE(s.ok()) << s.ToString();
}

// As LocalReplica::EndOwnership does, and as the next opening does after a crash.
void Simulation::KeepAhead(Node* node, const std::string& mutations) {
  if (mutations.empty()) return;
  HealDisk(node);
  EXPECT_TRUE(node->base->Reopen().ok());
  storage::ReplicationRecord position;
  EXPECT_TRUE(storage::GetReplication(*node->base, &position).ok());
  MutationBatch batch;
  PutAhead({.epoch = position.epoch, .sequence = position.sequence, .mutations = mutations},
           &batch);
  EXPECT_TRUE(node->base->Write(batch, false).ok());
  oracle_.KeepAhead(node->name, position.epoch, mutations);
}

// --- A replica's steps ---

void Simulation::NoteOwner(const Node& node) {
  LogState state;
  EXPECT_TRUE(log_->State(&state).ok());
  if (state.owner.name == node.name) oracle_.ExpectBegin(state.owner.epoch, node.name);
}

void Simulation::TakeOver(Node* node) {
  node->follower.reset();
  if (!node->copy->Recover().ok()) return;
  node->copy->DropUnfinished();
  if (!node->copy->seeded() || node->must_seed) return Seed(node);
  Status s = node->link->Acquire(node->name, kLease, &node->lease);
  NoteOwner(*node);
  ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kLocked}, "Acquire");
  if (!s.ok()) return;
  if (OneIn(10)) calls_until_cut_ = 1 + Random(5);
  s = node->copy->CatchUp(node->link.get());
  ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kNotFound}, "CatchUp");
  node->must_seed = s.code() == StatusCode::kNotFound;
  if (s.ok()) {
    counts_.with_ahead += node->copy->ahead().empty() ? 0 : 1;
    node->owner = std::make_unique<ReplicatedStorage>(
        node->copy.get(), node->link.get(),
        ReplicatedStorage::Options{.epoch = node->lease.epoch,
                                   .write_timeout = milliseconds(0),
                                   .retry_wait = milliseconds(0)});
    node->paused = false;
    node->sizes.clear();
    s = node->owner->Begin();
    oracle_.Look();
    ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kNotOwner}, "Begin");
    if (s.ok()) ++counts_.ownerships;
    if (!s.ok()) node->owner.reset();
  }
  calls_until_cut_ = UINT64_MAX;
  if (s.ok()) return;
  static_cast<void>(node->link->Release(node->lease));
  s = node->copy->EndOwnership();
  EXPECT_TRUE(s.ok()) << s.ToString();
}

void Simulation::Follow(Node* node) {
  if (!node->copy->seeded() || node->must_seed) return Seed(node);
  if (node->follower == nullptr) {
    node->copy->DropUnfinished();
    node->follower = node->link->Follow(node->copy->next());
  }
  LogEvents events;
  Status s = node->follower->Next(milliseconds(0), &events);
  if (s.ok()) {
    if (OneIn(20)) FailDiskSoon(node);
    std::span<const LogEntry> rest = events.entries;
    while (s.ok() && !rest.empty()) {
      const size_t count = 1 + Random(rest.size());
      s = node->copy->Apply(rest.first(count));
      rest = rest.subspan(count);
    }
    HealDisk(node);
  }
  ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kNotFound}, "Follow");
  node->must_seed = s.code() == StatusCode::kNotFound;
  if (!s.ok()) {
    node->follower.reset();
    EXPECT_TRUE(node->copy->Recover().ok());
  } else if (OneIn(3)) {
    static_cast<void>(node->link->PutReplica(
        {.name = node->name, .applied = node->copy->position().sequence, .seen_at_us = 1}));
  }
}

void Simulation::CatchUp(Node* node) {
  node->follower.reset();
  EXPECT_TRUE(node->copy->Recover().ok());
  node->copy->DropUnfinished();
  if (!node->copy->seeded() || node->must_seed) return Seed(node);
  const Status s = node->copy->CatchUp(node->link.get());
  ExpectOneOf(s, {StatusCode::kIOError, StatusCode::kNotFound}, "CatchUp");
  node->must_seed = s.code() == StatusCode::kNotFound;
}

void Simulation::Seed(Node* node) {
  LogState state;
  if (!node->link->State(&state).ok() || !state.checkpoint.has_value()) return;
  if (OneIn(4)) FailDiskSoon(node);
  const std::atomic<bool> stop{false};
  const Status s = node->copy->Seed(node->link.get(), *state.checkpoint, stop);
  HealDisk(node);
  ExpectOneOf(s, {StatusCode::kIOError}, "Seed");
  node->follower.reset();
  EXPECT_TRUE(node->copy->Recover().ok());
  if (!node->copy->seeded()) oracle_.DropAhead(node->name);
  if (!s.ok()) return;
  oracle_.DropAhead(node->name);
  node->must_seed = false;
  ++counts_.seeds;
}

}  // namespace wq::replication

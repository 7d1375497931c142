// The contract of a log: the store, ownership, checkpoints, replicas.
#include "tests/replication/log_contract.h"

#include <atomic>
#include <thread>
#include <vector>

namespace wq::replication {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

std::string TextOf(const std::vector<LogEntry>& entries) {
  std::string text;
  for (const LogEntry& entry : entries) {
    if (!text.empty()) text += ' ';
    text += std::to_string(entry.sequence) + '=' + entry.bytes;
  }
  return text;
}

}  // namespace

LogLease ReplicatedLogContract::Own(std::string_view name) {
  LogLease lease;
  EXPECT_OK(log_->Acquire(name, GetParam().lease, &lease));
  EXPECT_GT(lease.epoch, 0U);
  EXPECT_GT(lease.ttl, milliseconds::zero());
  return lease;
}

void ReplicatedLogContract::EndLease() {
  Watch watch(log_.get(), State().last + 1);
  if (GetParam().advance) GetParam().advance(GetParam().lease);
  EXPECT_OK(watch.UntilOwner(""));
  EXPECT_EQ(Owner(), "");
}

LogState ReplicatedLogContract::State() {
  LogState state;
  EXPECT_OK(log_->State(&state));
  return state;
}

std::string ReplicatedLogContract::Owner() {
  const LogOwner owner = State().owner;
  EXPECT_EQ(owner.epoch == 0, owner.name.empty());
  return owner.name;
}

std::string ReplicatedLogContract::Entries(LogSequence sequence, size_t max_bytes) {
  std::vector<LogEntry> entries;
  const Status s = log_->Read(sequence, max_bytes, &entries);
  return s.ok() ? TextOf(entries) : std::string(StatusCodeName(s.code()));
}

void ReplicatedLogContract::Fill(const LogLease& lease, LogSequence sequence,
                                 std::string_view letters) {
  for (const char letter : letters) {
    EXPECT_OK(log_->Append(lease.epoch, sequence++, std::string(1, letter)));
  }
}

Status Watch::Until(const std::function<bool()>& done) {
  const auto deadline = steady_clock::now() + kPatience;
  while (!done()) {
    if (steady_clock::now() >= deadline) return Status::TimedOut("seen: " + Text());
    if (Status s = follower_->Next(milliseconds(100), &events_); !s.ok()) return s;
  }
  return Status::Ok();
}

Status Watch::UntilEntries(std::string_view text) {
  return Until([&] { return Text() == text; });
}

Status Watch::UntilOwner(std::string_view name) {
  return Until([&] { return events_.owner && events_.owner->name == name; });
}

std::string Watch::Text() const { return TextOf(events_.entries); }

// --- The store ---

TEST_P(ReplicatedLogContract, BeginsEmpty) {
  const LogState state = State();
  EXPECT_EQ(state.store_uuid, "");
  EXPECT_EQ(state.owner.epoch, 0U);
  EXPECT_EQ(state.owner.name, "");
  EXPECT_EQ(state.successor, "");
  EXPECT_EQ(state.first, 1U);
  EXPECT_EQ(state.last, 0U);
  EXPECT_FALSE(state.checkpoint.has_value());
  EXPECT_TRUE(state.replicas.empty());
  EXPECT_EQ(Entries(1), "");
  EXPECT_NE(log_->Name(), "");
}

TEST_P(ReplicatedLogContract, IsOfTheFirstStoreThatClaimsIt) {
  std::string uuid = "first";
  ASSERT_OK(log_->Claim(&uuid));
  EXPECT_EQ(uuid, "first");
  uuid = "second";
  ASSERT_OK(log_->Claim(&uuid));
  EXPECT_EQ(uuid, "first");
  uuid = "first";
  ASSERT_OK(log_->Claim(&uuid));
  EXPECT_EQ(uuid, "first");
  EXPECT_EQ(State().store_uuid, "first");
}

TEST_P(ReplicatedLogContract, HasMembersOfWhichOneLeads) {
  size_t leaders = 0;
  for (const LogMember& member : log_->Members()) {
    EXPECT_NE(member.endpoint, "");
    EXPECT_TRUE(member.reachable) << member.problem;
    EXPECT_EQ(member.problem, "");
    leaders += member.leads ? 1U : 0U;
  }
  EXPECT_EQ(leaders, 1U);
}

TEST_P(ReplicatedLogContract, IsNotDestroyedUnderAnOwner) {
  const LogLease lease = Own("a");
  Fill(lease, 1, "x");
  for (const bool force : {false, true}) EXPECT_CODE(kLocked, log_->Destroy(force));
  EXPECT_EQ(Entries(1), "1=x");
  EXPECT_EQ(Owner(), "a");
}

TEST_P(ReplicatedLogContract, IsDestroyedWithReplicasByForceOnly) {
  std::string uuid = "first";
  ASSERT_OK(log_->Claim(&uuid));
  const LogLease lease = Own("a");
  Fill(lease, 1, "xy");
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 0, "part"));
  ASSERT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "one", .sequence = 2, .parts = 1}));
  ASSERT_OK(log_->SetSuccessor("b"));
  ASSERT_OK(log_->PutReplica({.name = "b", .applied = 2}));
  ASSERT_OK(log_->Release(lease));
  EXPECT_CODE(kLocked, log_->Destroy(false));
  EXPECT_EQ(Entries(1), "1=x 2=y");
  ASSERT_OK(log_->Destroy(true));

  const LogState state = State();
  EXPECT_EQ(state.store_uuid, "");
  EXPECT_EQ(state.successor, "");
  EXPECT_EQ(state.first, 1U);
  EXPECT_EQ(state.last, 0U);
  EXPECT_FALSE(state.checkpoint.has_value());
  EXPECT_TRUE(state.replicas.empty());
  std::string bytes;
  EXPECT_CODE(kNotFound, log_->ReadCheckpointPart("one", 0, &bytes));
  uuid = "second";
  ASSERT_OK(log_->Claim(&uuid));
  EXPECT_EQ(uuid, "second");
  EXPECT_GT(Own("a").epoch, lease.epoch);
}

// --- Ownership ---

TEST_P(ReplicatedLogContract, EpochsOnlyGrow) {
  uint64_t last = 0;
  for (const char* name : {"a", "b", "a", "a"}) {
    const LogLease lease = Own(name);
    EXPECT_GT(lease.epoch, last);
    last = lease.epoch;
    EXPECT_EQ(State().owner.epoch, last);
    EXPECT_EQ(Owner(), name);
    ASSERT_OK(log_->Release(lease));
  }
}

TEST_P(ReplicatedLogContract, HasOneOwner) {
  const LogLease lease = Own("the-owner");
  for (const char* name : {"b", "the-owner"}) {  // Two processes may have one name by mistake.
    LogLease other;
    const Status s = log_->Acquire(name, GetParam().lease, &other);
    EXPECT_CODE(kLocked, s);
    EXPECT_NE(s.message().find("the-owner"), std::string::npos) << s.ToString();
  }
  EXPECT_EQ(State().owner.epoch, lease.epoch);
}

TEST_P(ReplicatedLogContract, HasOneOwnerOfManyThatTry) {
  std::atomic<int> owners = 0;
  std::vector<std::thread> threads;
  for (const char* name : {"a", "b", "c", "d"}) {
    threads.emplace_back([this, name, &owners] {
      LogLease lease;
      const Status s = log_->Acquire(name, GetParam().lease, &lease);
      if (s.ok()) {
        ++owners;
      } else {
        EXPECT_CODE(kLocked, s);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(owners, 1);
  EXPECT_NE(Owner(), "");
}

TEST_P(ReplicatedLogContract, ReleaseFreesAtOnce) {
  const LogLease first = Own("a");
  ASSERT_OK(log_->Release(first));
  EXPECT_EQ(Owner(), "");
  const LogLease second = Own("b");
  EXPECT_OK(log_->Release(first));  // Again: of an ownership that has ended, nothing changes.
  EXPECT_EQ(State().owner.epoch, second.epoch);
  LogLease renewed = first;
  EXPECT_CODE(kNotOwner, log_->Renew(&renewed));
}

TEST_P(ReplicatedLogContract, ALeaseThatRunsOutFrees) {
  LogLease lease = Own("a");
  EndLease();
  EXPECT_CODE(kNotOwner, log_->Renew(&lease));
  EXPECT_CODE(kNotOwner, log_->Append(lease.epoch, 1, "late"));
  EXPECT_EQ(State().last, 0U);
  EXPECT_GT(Own("b").epoch, lease.epoch);
}

TEST_P(ReplicatedLogContract, ARenewedLeaseLasts) {
  LogLease lease = Own("a");
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilOwner("a"));
  for (int quarter = 0; quarter < 8; ++quarter) {  // Twice the lease.
    LogEvents events;
    if (GetParam().advance) {
      GetParam().advance(GetParam().lease / 4);
      ASSERT_OK(watch.follower().Next(milliseconds(1), &events));
    } else {
      ASSERT_OK(watch.follower().Next(GetParam().lease / 4, &events));
    }
    EXPECT_FALSE(events.owner.has_value());
    lease.ttl = milliseconds::zero();
    ASSERT_OK(log_->Renew(&lease));
    EXPECT_GT(lease.ttl, milliseconds::zero());
  }
  EXPECT_EQ(State().owner.epoch, lease.epoch);
  EXPECT_OK(log_->Append(lease.epoch, 1, "x"));
}

TEST_P(ReplicatedLogContract, NamesASuccessor) {
  ASSERT_OK(log_->SetSuccessor("b"));
  EXPECT_EQ(State().successor, "b");
  ASSERT_OK(log_->SetSuccessor(""));
  EXPECT_EQ(State().successor, "");
}

// --- Checkpoints ---

TEST_P(ReplicatedLogContract, ACheckpointIsCommittedWithItsParts) {
  const LogLease lease = Own("a");
  const std::string large(kMaxLogEntryBytes, '\xFF');
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 0, large));
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 1, std::string("\0z", 2)));
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 1, std::string("\0z", 2)));  // Repeated.
  EXPECT_FALSE(State().checkpoint.has_value());
  const LogCheckpoint checkpoint{.id = "one",
                                 .sequence = 7,
                                 .parts = 2,
                                 .rows = 11,
                                 .bytes = large.size() + 2,
                                 .made_at_us = 1'700'000'000'000'000};
  for (int i = 0; i < 2; ++i) {  // Repeated.
    ASSERT_OK(log_->CommitCheckpoint(lease.epoch, checkpoint));
    const std::optional<LogCheckpoint> read = State().checkpoint;
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->id, "one");
    EXPECT_EQ(read->sequence, 7U);
    EXPECT_EQ(read->parts, 2U);
    EXPECT_EQ(read->rows, 11U);
    EXPECT_EQ(read->bytes, checkpoint.bytes);
    EXPECT_EQ(read->made_at_us, checkpoint.made_at_us);
  }
  std::string bytes;
  ASSERT_OK(log_->ReadCheckpointPart("one", 0, &bytes));
  EXPECT_TRUE(bytes == large);
  ASSERT_OK(log_->ReadCheckpointPart("one", 1, &bytes));
  EXPECT_EQ(bytes, std::string("\0z", 2));
}

TEST_P(ReplicatedLogContract, ACheckpointErasesThePartsOfAllOthers) {
  const LogLease lease = Own("a");
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 0, "1"));
  ASSERT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "one", .sequence = 1, .parts = 1}));
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "abandoned", 0, "2"));
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "three", 0, "3"));
  std::string bytes;
  ASSERT_OK(log_->ReadCheckpointPart("one", 0, &bytes));
  EXPECT_EQ(bytes, "1");
  ASSERT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "three", .sequence = 2, .parts = 1}));
  EXPECT_EQ(State().checkpoint->id, "three");
  EXPECT_CODE(kNotFound, log_->ReadCheckpointPart("one", 0, &bytes));
  EXPECT_CODE(kNotFound, log_->ReadCheckpointPart("abandoned", 0, &bytes));
  ASSERT_OK(log_->ReadCheckpointPart("three", 0, &bytes));
  EXPECT_EQ(bytes, "3");
}

// Requests that were delayed come again, all of one checkpoint after the next one's.
TEST_P(ReplicatedLogContract, ACheckpointThatComesAgainDoesNotReplaceALaterOne) {
  const LogLease lease = Own("a");
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 0, "1"));
  ASSERT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "one", .sequence = 1, .parts = 1}));
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "two", 0, "2"));
  ASSERT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "two", .sequence = 2, .parts = 1}));
  EXPECT_OK(log_->PutCheckpointPart(lease.epoch, "one", 0, "1"));
  EXPECT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "one", .sequence = 1, .parts = 1}));
  EXPECT_EQ(State().checkpoint->id, "two");
  std::string bytes;
  ASSERT_OK(log_->ReadCheckpointPart("two", 0, &bytes));
  EXPECT_EQ(bytes, "2");
}

TEST_P(ReplicatedLogContract, AFormerOwnerChangesNoCheckpoint) {
  const LogLease former = Own("a");
  ASSERT_OK(log_->PutCheckpointPart(former.epoch, "late", 0, "late"));
  ASSERT_OK(log_->Release(former));
  const LogLease lease = Own("b");
  ASSERT_OK(log_->PutCheckpointPart(lease.epoch, "one", 0, "1"));
  ASSERT_OK(log_->CommitCheckpoint(lease.epoch, {.id = "one", .sequence = 1, .parts = 1}));
  EXPECT_CODE(kNotOwner, log_->PutCheckpointPart(former.epoch, "one", 0, "late"));
  EXPECT_CODE(kNotOwner, log_->CommitCheckpoint(former.epoch, {.id = "late", .parts = 1}));
  EXPECT_EQ(State().checkpoint->id, "one");
  std::string bytes;
  ASSERT_OK(log_->ReadCheckpointPart("one", 0, &bytes));
  EXPECT_EQ(bytes, "1");
}

// --- Replicas ---

TEST_P(ReplicatedLogContract, ReplicasAreListedByName) {
  ASSERT_OK(log_->PutReplica({.name = "b", .applied = 1, .seen_at_us = 10}));
  ASSERT_OK(log_->PutReplica({.name = "a", .applied = 2, .seen_at_us = 20}));
  ASSERT_OK(log_->PutReplica({.name = "b", .applied = 3, .seen_at_us = 30}));
  const std::vector<LogReplica> replicas = State().replicas;
  ASSERT_EQ(replicas.size(), 2U);
  EXPECT_EQ(replicas[0].name, "a");
  EXPECT_EQ(replicas[0].applied, 2U);
  EXPECT_EQ(replicas[0].seen_at_us, 20);
  EXPECT_EQ(replicas[1].name, "b");
  EXPECT_EQ(replicas[1].applied, 3U);
  EXPECT_EQ(replicas[1].seen_at_us, 30);
}

TEST_P(ReplicatedLogContract, AReplicaIsRemovedOnce) {
  ASSERT_OK(log_->PutReplica({.name = "a", .applied = 2}));
  ASSERT_OK(log_->RemoveReplica("a"));
  EXPECT_TRUE(State().replicas.empty());
  EXPECT_CODE(kNotFound, log_->RemoveReplica("a"));
}

}  // namespace wq::replication

// The contract of a log: its entries, and who follows them.
#include <chrono>
#include <thread>
#include <vector>

#include "tests/replication/log_contract.h"

namespace wq::replication {

using std::chrono::milliseconds;

// --- Entries ---

TEST_P(ReplicatedLogContract, EntriesHaveAnyBytes) {
  const LogLease lease = Own("a");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string largest(kMaxLogEntryBytes, '\xFE');
  ASSERT_OK(log_->Append(lease.epoch, 1, bytes));
  ASSERT_OK(log_->Append(lease.epoch, 2, largest));
  std::vector<LogEntry> entries;
  ASSERT_OK(log_->Read(1, SIZE_MAX, &entries));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].bytes, bytes);
  EXPECT_TRUE(entries[1].bytes == largest);
}

TEST_P(ReplicatedLogContract, ReadsUntilTheBytesExceedTheLimit) {
  const LogLease lease = Own("a");
  Fill(lease, 1, "abcd");
  EXPECT_EQ(Entries(1, 0), "1=a");
  EXPECT_EQ(Entries(1, 2), "1=a 2=b 3=c");
  std::vector<LogEntry> entries = {{9, "kept"}};
  ASSERT_OK(log_->Read(4, 0, &entries));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].bytes, "kept");
}

TEST_P(ReplicatedLogContract, ARepeatedAppendIsOneEntryAndOneOfOtherBytesIsCorruption) {
  const LogLease lease = Own("a");
  Fill(lease, 1, "ab");
  EXPECT_CODE(kCorruption, log_->Append(lease.epoch, 2, "x"));
  EXPECT_OK(log_->Append(lease.epoch, 2, "b"));
  EXPECT_EQ(Entries(1), "1=a 2=b");
  EXPECT_OK(log_->Append(lease.epoch, 3, "c"));
  EXPECT_EQ(Entries(1), "1=a 2=b 3=c");
}

TEST_P(ReplicatedLogContract, OnlyTheOwnerChangesEntries) {
  const LogLease former = Own("a");
  Fill(former, 1, "abc");
  ASSERT_OK(log_->Release(former));
  for (const bool owned : {false, true}) {  // By nobody, and by another.
    if (owned) Own("b");
    EXPECT_CODE(kNotOwner, log_->Append(former.epoch, 4, "late"));
    EXPECT_CODE(kNotOwner, log_->Append(former.epoch, 3, "late"));
    EXPECT_CODE(kNotOwner, log_->EraseFrom(former.epoch, 3));
    EXPECT_CODE(kNotOwner, log_->Truncate(former.epoch, 3));
    EXPECT_CODE(kNotOwner, log_->Append(former.epoch + 1'000'000, 4, "early"));
    EXPECT_CODE(kNotOwner, log_->Append(0, 4, "nobody"));
    EXPECT_EQ(Entries(1), "1=a 2=b 3=c");
  }
}

// NotOwner would say that the entry is not in the log.
TEST_P(ReplicatedLogContract, AnAppendRepeatedByAFormerOwnerFindsItsEntry) {
  const LogLease former = Own("a");
  Fill(former, 1, "ab");
  ASSERT_OK(log_->Release(former));
  EXPECT_OK(log_->Append(former.epoch, 2, "b"));
  const LogLease lease = Own("b");
  EXPECT_OK(log_->Append(former.epoch, 2, "b"));
  EXPECT_EQ(Entries(1), "1=a 2=b");
  ASSERT_OK(log_->EraseFrom(lease.epoch, 2));
  EXPECT_CODE(kNotOwner, log_->Append(former.epoch, 2, "b"));
  EXPECT_EQ(Entries(1), "1=a");
}

TEST_P(ReplicatedLogContract, AppendsInPlaceOfErasedEntries) {
  const LogLease former = Own("a");
  Fill(former, 1, "abc");
  ASSERT_OK(log_->Release(former));
  const LogLease lease = Own("b");
  ASSERT_OK(log_->EraseFrom(lease.epoch, 2));
  EXPECT_EQ(Entries(1), "1=a");
  EXPECT_EQ(State().last, 1U);
  EXPECT_OK(log_->EraseFrom(lease.epoch, 2));  // Repeated: there is nothing to erase.
  Fill(lease, 2, "xy");
  EXPECT_EQ(Entries(1), "1=a 2=x 3=y");
}

// A request that was delayed would cost what was acknowledged since.
TEST_P(ReplicatedLogContract, AnEraseFromThatComesAgainErasesNothingOfItsOwnEpoch) {
  const LogLease former = Own("a");
  Fill(former, 1, "abc");
  ASSERT_OK(log_->Release(former));
  const LogLease lease = Own("b");
  ASSERT_OK(log_->EraseFrom(lease.epoch, 2));
  Fill(lease, 2, "x");
  EXPECT_OK(log_->EraseFrom(lease.epoch, 2));
  EXPECT_EQ(Entries(1), "1=a 2=x");
  Fill(lease, 3, "yz");
  EXPECT_OK(log_->EraseFrom(lease.epoch, 2));
  EXPECT_EQ(Entries(1), "1=a 2=x 3=y 4=z");
}

TEST_P(ReplicatedLogContract, ErasesTheOnlyEntry) {
  const LogLease former = Own("a");
  Fill(former, 1, "a");
  ASSERT_OK(log_->Release(former));
  const LogLease lease = Own("b");
  ASSERT_OK(log_->EraseFrom(lease.epoch, 1));
  EXPECT_EQ(State().first, 1U);
  EXPECT_EQ(State().last, 0U);
  Fill(lease, 1, "x");
  EXPECT_EQ(Entries(1), "1=x");
}

TEST_P(ReplicatedLogContract, TruncatesTheEntriesBefore) {
  const LogLease lease = Own("a");
  Fill(lease, 1, "abcd");
  for (int i = 0; i < 2; ++i) {  // Repeated.
    ASSERT_OK(log_->Truncate(lease.epoch, 3));
    EXPECT_EQ(State().first, 3U);
    EXPECT_EQ(State().last, 4U);
    EXPECT_EQ(Entries(1), "NotFound");
    EXPECT_EQ(Entries(2), "NotFound");
    EXPECT_EQ(Entries(3), "3=c 4=d");
  }
  ASSERT_OK(log_->Truncate(lease.epoch, 1));  // Nothing.
  EXPECT_EQ(State().first, 3U);
  Fill(lease, 5, "e");
  EXPECT_EQ(Entries(3), "3=c 4=d 5=e");
}

TEST_P(ReplicatedLogContract, TruncatingAllEntriesForgetsNoNumber) {
  const LogLease lease = Own("a");
  Fill(lease, 1, "abc");
  ASSERT_OK(log_->Truncate(lease.epoch, 4));
  EXPECT_EQ(State().last, 3U);
  EXPECT_GE(State().first, 3U);  // The last entry may be kept.
  EXPECT_EQ(Entries(2), "NotFound");
  EXPECT_EQ(Entries(4), "");
  Fill(lease, 4, "d");
  EXPECT_EQ(State().last, 4U);
}

// --- Followers ---

TEST_P(ReplicatedLogContract, TheFirstCallReportsOwnerAndSuccessor) {
  const LogLease lease = Own("a");
  ASSERT_OK(log_->SetSuccessor("b"));
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.Until([&] { return watch.events().owner && watch.events().successor; }));
  EXPECT_EQ(watch.events().owner->name, "a");
  EXPECT_EQ(watch.events().owner->epoch, lease.epoch);
  EXPECT_EQ(watch.events().successor, "b");
  Watch other(log_.get(), 1);
  LogEvents events;
  ASSERT_OK(other.follower().Next(kPatience, &events));
  EXPECT_TRUE(events.owner.has_value());
  EXPECT_TRUE(events.successor.has_value());
}

TEST_P(ReplicatedLogContract, AFollowerSeesOwnersAndSuccessorsChange) {
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilOwner(""));
  EXPECT_EQ(watch.events().owner->epoch, 0U);
  const LogLease first = Own("a");
  ASSERT_OK(watch.UntilOwner("a"));
  EXPECT_EQ(watch.events().owner->epoch, first.epoch);
  ASSERT_OK(log_->SetSuccessor("b"));
  ASSERT_OK(watch.Until([&] { return watch.events().successor == "b"; }));
  ASSERT_OK(log_->Release(first));
  ASSERT_OK(watch.UntilOwner(""));
  EXPECT_EQ(watch.events().owner->epoch, 0U);
  const LogLease second = Own("b");
  ASSERT_OK(watch.UntilOwner("b"));
  EXPECT_EQ(watch.events().owner->epoch, second.epoch);
  ASSERT_OK(log_->SetSuccessor(""));
  ASSERT_OK(watch.Until([&] { return watch.events().successor == ""; }));
}

TEST_P(ReplicatedLogContract, AFollowerSeesOneOwnerReplacedByAnother) {
  const LogLease first = Own("a");
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilOwner("a"));
  ASSERT_OK(log_->Release(first));
  const LogLease second = Own("a");  // The same name: only the epoch has changed.
  ASSERT_OK(watch.Until([&] { return watch.events().owner->epoch == second.epoch; }));
  EXPECT_EQ(watch.events().owner->name, "a");
}

TEST_P(ReplicatedLogContract, AFollowerThatWaitsSeesTheEndOfALease) {
  Own("a");
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilOwner("a"));
  Status waited;
  LogEvents events;
  std::thread waiting([&] {
    do {
      waited = watch.follower().Next(kPatience, &events);
    } while (waited.ok() && !events.owner);
  });
  if (GetParam().advance) GetParam().advance(GetParam().lease);
  waiting.join();
  ASSERT_OK(waited);
  EXPECT_EQ(events.owner->epoch, 0U);
}

TEST_P(ReplicatedLogContract, ANextWithNothingIsOk) {
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilOwner(""));
  LogEvents events;
  EXPECT_OK(watch.follower().Next(milliseconds(20), &events));
  EXPECT_TRUE(events.entries.empty());
  EXPECT_FALSE(events.owner.has_value());
  EXPECT_FALSE(events.successor.has_value());
}

TEST_P(ReplicatedLogContract, InterruptEndsAWait) {
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilOwner(""));
  for (const bool before : {true, false}) {
    if (before) watch.follower().Interrupt();
    Status waited;
    LogEvents events;
    std::thread waiting([&] { waited = watch.follower().Next(std::chrono::hours(2), &events); });
    if (!before) watch.follower().Interrupt();
    waiting.join();
    EXPECT_OK(waited);
    EXPECT_TRUE(events.entries.empty());
  }
}

TEST_P(ReplicatedLogContract, AFollowerOfATruncatedEntryGetsNotFound) {
  const LogLease lease = Own("a");
  Fill(lease, 1, "a");
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilEntries("1=a"));
  Fill(lease, 2, "bcd");
  ASSERT_OK(log_->Truncate(lease.epoch, 4));
  Watch late(log_.get(), 3);
  EXPECT_CODE(kNotFound, late.Until([] { return false; }));
  Watch in_time(log_.get(), 4);
  EXPECT_OK(in_time.UntilEntries("4=d"));
}

// Its entries 2 and 3 are erased and replaced; whoever has seen them sees those that replace them.
TEST_P(ReplicatedLogContract, AFollowerSeesWhatReplacesErasedEntries) {
  const LogLease former = Own("a");
  Fill(former, 1, "abc");
  Watch watch(log_.get(), 1);
  ASSERT_OK(watch.UntilEntries("1=a 2=b 3=c"));
  ASSERT_OK(log_->Release(former));
  const LogLease lease = Own("b");
  ASSERT_OK(log_->EraseFrom(lease.epoch, 2));
  Fill(lease, 2, "x");
  ASSERT_OK(watch.UntilEntries("1=a 2=b 3=c 2=x"));
  Fill(lease, 3, "y");
  ASSERT_OK(watch.UntilEntries("1=a 2=b 3=c 2=x 3=y"));
}

TEST_P(ReplicatedLogContract, FollowersSeeAllEntriesInOrder) {
  constexpr LogSequence kEntries = 200;
  const LogLease lease = Own("a");
  std::vector<std::thread> threads;
  for (const LogSequence begin : {LogSequence{1}, LogSequence{50}}) {
    threads.emplace_back([this, begin] {
      Watch watch(log_.get(), begin);
      EXPECT_OK(watch.Until([&] { return watch.events().entries.size() > kEntries - begin; }));
      LogSequence next = begin;
      for (const LogEntry& entry : watch.events().entries) {
        EXPECT_EQ(entry.sequence, next);
        EXPECT_EQ(entry.bytes, std::to_string(next));
        ++next;
      }
    });
  }
  LogLease renewed = lease;
  for (LogSequence sequence = 1; sequence <= kEntries; ++sequence) {
    EXPECT_OK(log_->Append(lease.epoch, sequence, std::to_string(sequence)));
    if (sequence % 20 == 0) {
      EXPECT_OK(log_->Renew(&renewed));
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace wq::replication

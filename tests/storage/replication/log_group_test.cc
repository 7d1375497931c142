// A batch becomes entries of a log and comes back; what is damaged or out of order is Corruption.
#include "storage/replication/log_group.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "storage/mutation_batch.h"
#include "storage/record_keys.h"
#include "tests/storage/support.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq::storage {
namespace {

constexpr uint64_t kEpoch = 0x0102030405060708;

// Mutations of exactly `bytes` bytes, which cannot be compressed; at least kSmallest.
constexpr size_t kSmallest = 3;  // A put of an empty key: tag, two lengths.
std::string Mutations(size_t bytes) {
  for (size_t overhead = kSmallest; overhead <= bytes; ++overhead) {
    std::string value(bytes - overhead, '\0');
    std::mt19937 random(1);
    for (char& byte : value) byte = static_cast<char>(random());
    MutationBatch batch;
    batch.Put(Family::kDefault, "", value);
    if (batch.bytes() == bytes) return std::string(batch.mutations());
    // The value's length takes more than one byte, or just began to: two puts fill the rest.
    if (batch.bytes() < bytes && bytes - batch.bytes() >= kSmallest) {
      batch.Put(Family::kDefault, "", std::string(bytes - batch.bytes() - kSmallest, 'x'));
      if (batch.bytes() == bytes) return std::string(batch.mutations());
    }
  }
  ADD_FAILURE() << "no mutations of " << bytes << " bytes";
  return {};
}

std::vector<LogEntry> Entries(uint64_t epoch, std::string_view mutations, LogSequence first) {
  std::vector<std::string> split;
  SplitGroup(epoch, mutations, &split);
  std::vector<LogEntry> entries;
  for (std::string& bytes : split) entries.push_back({first++, std::move(bytes)});
  return entries;
}

// Three entries of one group.
std::vector<LogEntry> ThreeEntries(uint64_t epoch, LogSequence first) {
  std::vector<LogEntry> entries = Entries(epoch, Mutations(2 * kMaxEntryPieceBytes + 10), first);
  EXPECT_EQ(entries.size(), 3U);
  return entries;
}

Status AddOne(GroupReader* reader, const LogEntry& entry) {
  bool complete = false;
  return reader->Add(entry, &complete);
}

// Each entry but the last one leaves the group unfinished.
void ExpectGroup(const std::vector<LogEntry>& entries, std::string_view mutations,
                 GroupReader* reader) {
  for (const LogEntry& entry : entries) {
    EXPECT_LE(entry.bytes.size(), kMaxLogEntryBytes);
    bool complete = false;
    ASSERT_OK(reader->Add(entry, &complete));
    EXPECT_EQ(complete, &entry == &entries.back());
    EXPECT_EQ(reader->unfinished(), !complete);
  }
  EXPECT_TRUE(reader->mutations() == mutations);
  EXPECT_EQ(reader->first(), entries.front().sequence);
  EXPECT_EQ(reader->last(), entries.back().sequence);
}

TEST(Entry, OfAnySizeComesBack) {
  for (const size_t bytes :
       {kSmallest, size_t{4}, size_t{100}, kMaxEntryPieceBytes - 1, kMaxEntryPieceBytes,
        kMaxEntryPieceBytes + 1, 2 * kMaxEntryPieceBytes - 1, 2 * kMaxEntryPieceBytes,
        2 * kMaxEntryPieceBytes + 1, size_t{1} << 20}) {
    SCOPED_TRACE(bytes);
    const std::string mutations = Mutations(bytes);
    ASSERT_EQ(mutations.size(), bytes);
    const std::vector<LogEntry> entries = Entries(kEpoch, mutations, 8);
    EXPECT_EQ(entries.size(), (bytes + kMaxEntryPieceBytes - 1) / kMaxEntryPieceBytes);
    GroupReader reader({.last = 7, .epoch = kEpoch - 1});
    ExpectGroup(entries, mutations, &reader);
    EXPECT_EQ(reader.epoch(), kEpoch);
  }
}

// As the Adds of many keys are: a group that is compressed.
std::string AddsOf(size_t keys) {
  MutationBatch batch;
  std::mt19937 random(1);
  for (size_t i = 0; i < keys; ++i) {
    batch.Put(Family::kDirty, "namespace/pod-" + std::to_string(random()), "value");
  }
  return std::string(batch.mutations());
}

TEST(Entry, OfManyAddsIsCompressedAndComesBack) {
  const std::string mutations = AddsOf(4000);
  ASSERT_GT(mutations.size(), kMaxEntryPieceBytes);
  const std::vector<LogEntry> entries = Entries(kEpoch, mutations, 8);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_LT(entries[0].bytes.size(), mutations.size() / 2);
  GroupReader reader({.last = 7});
  ExpectGroup(entries, mutations, &reader);
  // The next group has nothing of it.
  ExpectGroup(Entries(kEpoch, Mutations(10), 9), Mutations(10), &reader);
}

TEST(Entry, OfACompressedGroupMayBeOneOfMany) {
  const std::string mutations = AddsOf(200'000);
  const std::vector<LogEntry> entries = Entries(kEpoch, mutations, 1);
  ASSERT_GT(entries.size(), 2U);
  EXPECT_LT(entries.size() * kMaxEntryPieceBytes, mutations.size() / 2);
  GroupReader reader;
  ExpectGroup(entries, mutations, &reader);
}

TEST(Entry, OfASmallGroupIsNotCompressed) {
  const std::string mutations = AddsOf(10);
  ASSERT_LT(mutations.size(), kMinCompressedBytes);
  const std::vector<LogEntry> entries = Entries(kEpoch, mutations, 1);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].bytes.substr(kEntryHeaderBytes), mutations);
}

// An entry of these bytes behind the header, with this flag byte.
LogEntry Sealed(uint8_t flags, std::string_view piece) {
  std::string bytes;
  bytes += static_cast<char>(kEntryVersion);
  bytes += static_cast<char>(flags);
  AppendBig64(kEpoch, &bytes);
  AppendBig64(XXH3_64bits((bytes + std::string(piece)).data(), bytes.size() + piece.size()),
              &bytes);
  return {1, bytes + std::string(piece)};
}

TEST(Entry, ThatDoesNotDecompressIsCorruption) {
  constexpr uint8_t kWholeCompressedGroup = 7;
  const std::string frame =
      Entries(kEpoch, AddsOf(1000), 1).front().bytes.substr(kEntryHeaderBytes);
  ASSERT_OK(AddOne(std::make_unique<GroupReader>().get(), Sealed(kWholeCompressedGroup, frame)));
  std::string huge = frame;  // Its header: four bytes of magic, a descriptor, the size.
  huge.replace(4, 1, "\xE0");
  huge.replace(5, 8, std::string(8, '\x7F'));
  for (const std::string& piece : {std::string(), std::string("no frame"),
                                   frame.substr(0, frame.size() - 1), huge, frame + "more"}) {
    GroupReader reader;
    EXPECT_STATUS(kCorruption, "entry 1: the group that begins at 1 cannot be decoded",
                  AddOne(&reader, Sealed(kWholeCompressedGroup, piece)));
  }
}

TEST(Entry, OfAGroupThatIsPartlyCompressedIsCorruption) {
  constexpr uint8_t kFirst = 1;
  constexpr uint8_t kLastCompressed = 6;
  GroupReader reader;
  ASSERT_OK(AddOne(&reader, Sealed(kFirst, "abc")));
  LogEntry second = Sealed(kLastCompressed, "def");
  second.sequence = 2;
  EXPECT_STATUS(kCorruption, "entry 2: its group is partly compressed", AddOne(&reader, second));
}

TEST(Entry, OfNoMutationsIsAGroup) {
  const std::vector<LogEntry> entries = Entries(kEpoch, "", 1);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].bytes.size(), kEntryHeaderBytes);
  GroupReader reader;
  ExpectGroup(entries, "", &reader);
}

// The bytes are in the logs of stores: this example never changes.
TEST(Entry, HasTheseBytes) {
  MutationBatch batch;
  batch.Put(Family::kCursors, "k", "v");
  std::vector<std::string> entries;
  SplitGroup(kEpoch, batch.mutations(), &entries);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(Hex(entries[0]), "01030102030405060708aa5d7bbbd1dff7320506016b0176");
}

TEST(Entry, EachDamagedByteIsCorruption) {
  std::vector<LogEntry> entries = Entries(kEpoch, Mutations(300), 8);
  ASSERT_EQ(entries.size(), 1U);
  for (char& byte : entries[0].bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ 1 << bit);
      GroupReader reader({.last = 7});
      EXPECT_STATUS(kCorruption, "entry 8", AddOne(&reader, entries[0]));
      byte = static_cast<char>(byte ^ 1 << bit);
    }
  }
}

TEST(Entry, EachShorterEntryIsCorruption) {
  const std::vector<LogEntry> entries = Entries(kEpoch, Mutations(300), 8);
  for (size_t bytes = 0; bytes < entries[0].bytes.size(); ++bytes) {
    GroupReader reader({.last = 7});
    EXPECT_STATUS(kCorruption, "entry 8", AddOne(&reader, {8, entries[0].bytes.substr(0, bytes)}));
  }
}

TEST(Entry, OutOfPlaceIsCorruption) {
  const std::vector<LogEntry> three = ThreeEntries(5, 1);
  const std::string ten = Mutations(10);
  const auto one = [&ten](uint64_t epoch, LogSequence sequence) {
    return Entries(epoch, ten, sequence)[0];
  };
  LogEntry other_version = one(5, 1);
  other_version.bytes[0] = kEntryVersion + 1;
  struct Case {
    std::vector<LogEntry> entries;  // The last one is refused.
    const char* why;
    LogSequence last = 0;  // What was read before.
  };
  for (const Case& each : std::vector<Case>{
           {{other_version}, "entry 1: its version is 2"},
           {{three[1]}, "entry 2: the beginning of its group is missing", 1},
           {{three[0], three[2]}, "entry 3: it follows the entry 1"},
           {{one(5, 2)}, "entry 2: it follows the entry 0"},
           {{one(5, 1), one(5, 1)}, "entry 1: it follows the entry 1"},
           {{one(5, 1), one(4, 2)}, "entry 2: its epoch is 4, after an entry of 5"},
           {{three[0], ThreeEntries(6, 1)[1]}, "entry 2: its epoch is 6, after an entry of 5"},
           {{Entries(5, ten.substr(0, 9), 1)[0]},
            "entry 1: the group that begins at 1 cannot be decoded: its mutations"},
           {{three[0], one(6, 2)}, "entry 2: it begins a group after the unfinished one"},
           {{three[0], three[1], three[2], one(6, 1)}, "entry 1: it follows the entry 3"}}) {
    SCOPED_TRACE(each.why);
    GroupReader reader({.last = each.last});
    for (const LogEntry& entry : each.entries) {
      if (&entry == &each.entries.back()) {
        EXPECT_STATUS(kCorruption, each.why, AddOne(&reader, entry));
      } else {
        ASSERT_OK(AddOne(&reader, entry));
      }
    }
  }
}

TEST(Entry, ReplacesAnUnfinishedGroup) {
  const std::string other = Mutations(kMaxEntryPieceBytes + 5);
  for (const size_t seen : {size_t{1}, size_t{2}}) {  // Entries of the unfinished group.
    const std::vector<LogEntry> unfinished = ThreeEntries(5, 8);
    GroupReader reader({.last = 7});
    for (size_t i = 0; i < seen; ++i) ASSERT_OK(AddOne(&reader, unfinished[i]));
    EXPECT_TRUE(reader.unfinished());
    EXPECT_EQ(reader.first(), 8U);
    const std::vector<LogEntry> entries = Entries(6, other, 8);
    ASSERT_EQ(entries.size(), 2U);
    ExpectGroup(entries, other, &reader);
    EXPECT_EQ(reader.epoch(), 6U);
  }
}

}  // namespace
}  // namespace wq::storage

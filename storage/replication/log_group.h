// How the mutations of one batch become entries of a ReplicatedLog, and how they come back.
//
//   std::vector<std::string> entries;
//   SplitGroup(epoch, batch.mutations(), &entries);  // Append each, in this order.
//   …
//   GroupReader reader({.last = checkpoint.sequence});
//   bool complete = false;
//   Status s = reader.Add(entry, &complete);         // For each entry of the log, in its order.
//   if (complete) Apply(reader.mutations(), reader.last());
//
// The entries of one batch are a group. They are in the log without a gap, and are applied together
// or not at all: a group without its last entry is one that its owner did not finish. An entry is
//
//   offset  bytes  content
//   0       1      kEntryVersion
//   1       1      flags: 1 the first entry of its group, 2 the last one, 4 the group is
//                  compressed; no other bit is set
//   2       8      the epoch of the owner that wrote it, big endian
//   10      8      XXH3-64 of the bytes 0 to 9 and those from 18 on, big endian
//   18             a piece of the mutations (MutationBatch::mutations), which may end at any byte;
//                  of a compressed group, a piece of the Zstandard frame that has them
//
// A group of kMinCompressedBytes or more is compressed if that makes it shorter: then a group of
// many keys is one entry, and one request to the log.
//
// These bytes are in the log of a store and never change their meaning: another format has another
// version. An example is in tests/storage/replication/log_group_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wq::storage {

inline constexpr uint8_t kEntryVersion = 1;
inline constexpr size_t kEntryHeaderBytes = 18;
inline constexpr size_t kMaxEntryPieceBytes = kMaxLogEntryBytes - kEntryHeaderBytes;
inline constexpr size_t kMinCompressedBytes = size_t{4} << 10;
// A frame that would become longer than this is Corruption, and a longer group is not compressed.
inline constexpr size_t kMaxCompressedGroupBytes = size_t{1} << 30;

// Appends the entries of one group to *entries: as few as possible, at least one.
void SplitGroup(uint64_t epoch, std::string_view mutations, std::vector<std::string>* entries);

// The end of the group before the first one that is read.
struct GroupEnd {
  LogSequence last = 0;
  uint64_t epoch = 0;  // 0: unknown.
};

// Collects the entries of groups. Thread-compatible. After an error the reader is of no use.
class GroupReader {
 public:
  explicit GroupReader(const GroupEnd& before = {}) : last_(before.last), epoch_(before.epoch) {}

  // Takes the next entry. *complete: it is the last one of its group.
  //
  // While a group is unfinished the next entry may be, instead of its continuation, the beginning
  // of another group with the sequence of the unfinished one's beginning: the owner died, and the
  // next owner erased what it had appended. The unfinished group is dropped.
  //
  // Corruption, which names the sequence: the entry has another version, its checksum or flags are
  // wrong, it continues a group of which the beginning is missing, its sequence is not the next
  // one, its epoch is lower than the one before or not that of its group, or a complete group
  // cannot be decompressed or decoded.
  Status Add(const LogEntry& entry, bool* complete);

  // The complete group. REQUIRES: the last Add completed it.
  const std::string& mutations() const { return mutations_; }
  LogSequence first() const { return first_; }

  // The last entry that was added, or of the group before.
  LogSequence last() const { return last_; }
  uint64_t epoch() const { return epoch_; }

  // Entries were added of a group that is not complete: it begins at first().
  bool unfinished() const { return unfinished_; }

 private:
  std::string TakeMutations();

  LogSequence last_;
  uint64_t epoch_;
  LogSequence first_ = 0;  // Of the group of last_; 0: none was added.
  bool unfinished_ = false;
  bool compressed_ = false;  // That group.
  std::string pieces_;       // Of that group, while it is unfinished.
  std::string mutations_;    // Of that group, once it is complete.
};

}  // namespace wq::storage

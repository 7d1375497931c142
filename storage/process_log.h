// ProcessLog: what an owner has appended since the last write to the database, in a mapped file. So
// it survives a kill of the process at the cost of a copy in memory.
//
//   std::unique_ptr<ProcessLog> log;
//   Status s = ProcessLog::Create(dir, header, &log);
//   if (!log->Append(batch.mutations())) …     // Full: wait for a write to the database.
//   … write a batch with PutProcessLog({log->number(), end}) to the database …
//   log->Release(end);                         // That part of the file is free again.
//
// Why a mapped file survives: its pages belong to the kernel, so a store to one of them outlives
// the process exactly as a completed write(2) does. Neither survives a power cut until it is
// synced.
//
// The file is a ring of records (process_log/format.h). A position is the number of bytes that were
// appended to this log before it. A record contains its position, so a record of an earlier lap is
// never taken for a present one; and the log's random nonce, so the bytes of a key never are. Each
// opening of a store makes a new file of zeros: an owner that
// lost its store to another one cannot write into the other's log. The file's whole space is
// allocated before it is mapped, and a file system is refused on which that is not enough: a full
// disk cannot raise SIGBUS at a later store. A forked child does not inherit the mapping.
//
// What is on disk at each instant: the records from the position in the database to end(), intact.
// The last thing that Append stores is the new end, in one word: so a kill during Append leaves the
// records before it.
//
// Thread-compatible. Append makes no system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace wq::storage {

using LogPosition = uint64_t;

// The greatest capacity, so that a damaged header cannot make a reader allocate without limit.
inline constexpr uint64_t kMaxProcessLogBytes = uint64_t{1} << 30;

// The first part of the file, which does not change.
struct ProcessLogHeader {
  std::string store_uuid;
  // BootId() of the writer's machine: see process_log/read_process_log.h. Empty: all of the file
  // was synced, so a power cut explains nothing that is missing.
  std::string boot_id;
  uint64_t number = 0;    // Counts the process logs of the store, from 1.
  uint64_t capacity = 0;  // Bytes for records; a multiple of 4096.
  uint64_t nonce = 0;     // Drawn by ProcessLog::Create. 0: a log of version 1.
};

// "process-000007.log" would be taken for a write-ahead log: the name ends in ".ring".
std::string ProcessLogName(uint64_t number);
// A log that is being made. An opening that was killed may leave it; the next one removes it.
inline constexpr const char* kUnfinishedProcessLog = "process-log.tmp";
// The numbers of the process logs in `dir`, ascending.
Status ListProcessLogs(const std::string& dir, std::vector<uint64_t>* numbers);

class ProcessLog {
 public:
  // Makes the file of header.number in `dir`, and syncs it and the directory. An older file of this
  // name is replaced.
  //   NotSupported  the file system cannot allocate or map files, or could raise SIGBUS although
  //                 the space is allocated (it copies on write, a copy can share its blocks, or it
  //                 is a network's); or the boot id cannot be read.
  //   IOError       no space, or another error of a system call.
  // After an error there is no file of this name. Blocks: writes and syncs a few pages.
  static Status Create(const std::string& dir, ProcessLogHeader header,
                       std::unique_ptr<ProcessLog>* log);
  ~ProcessLog();  // Leaves the file.
  ProcessLog(const ProcessLog&) = delete;
  ProcessLog& operator=(const ProcessLog&) = delete;

  // Appends a record of MutationBatch::mutations(). False: it does not fit now, or it is longer
  // than a half of the capacity; nothing has changed.
  bool Append(std::string_view mutations);

  uint64_t number() const { return header_.number; }
  LogPosition end() const { return end_; }
  uint64_t capacity() const { return header_.capacity; }
  uint64_t Used() const { return end_ - released_; }

  // Calls visit(std::string_view mutations) with each record of [begin, end), in order; the view is
  // valid during the call. Append may run on another thread at the same time, but not Release.
  // REQUIRES: the log has these records, and both are their ends.
  template <typename Visit>
  void Read(LogPosition begin, LogPosition end, const Visit& visit) const {
    std::string copy;
    while (begin < end) {
      const std::string_view mutations = MutationsAt(begin, &copy);
      begin += RecordBytes(mutations.size());
      visit(mutations);
    }
  }

  // The records before `position` are in the database, so that their space is free.
  // REQUIRES: position <= end().
  void Release(LogPosition position);

 private:
  ProcessLog(ProcessLogHeader header, char* mapping);
  // The bytes of a record with this many bytes of mutations.
  static uint64_t RecordBytes(uint64_t mutations);
  // *copy: holds the mutations if they continue at the beginning of the ring.
  std::string_view MutationsAt(LogPosition position, std::string* copy) const;
  void CopyIn(std::string_view bytes);

  const ProcessLogHeader header_;
  char* const mapping_;
  LogPosition end_ = 0;
  uint64_t offset_ = 0;  // end_ modulo the capacity, without a division at each Append.
  LogPosition released_ = 0;
};

}  // namespace wq::storage

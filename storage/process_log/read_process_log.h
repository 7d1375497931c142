// Reading a process log's file: after its owner has ended, or beside a running one. Internal to
// storage/.
//
//   FoundProcessLogs logs;
//   Status s = logs.Read(dir);
//   // … read the database, and `record` from it …
//   MutationBatch unwritten;
//   if (s.ok()) s = logs.AppendUnwritten(record, uuid, &unwritten);
//
// The logs are read before the database, since an owner may be running. It reuses only what it has
// released before, and it releases only what is in the database. So the records from the position
// that is then read from the database on are intact in what was read here.
//
// Which records must be there is judged by the boot id. In the boot of the writer there was no
// power cut: every record from the position in the database to the end must be intact, and anything
// else is Corruption. An intact record behind the end counts, too: its append was under way, or the
// end is damaged. After another boot, a power cut may have kept any subset of the file's pages: the
// records that follow one another from the position on count, up to the first that is not intact;
// the later ones were not promised to survive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "storage/process_log.h"
#include "storage/records.h"
#include "wq/status.h"

namespace wq::storage {

// Thread-compatible.
class ProcessLogContents {
 public:
  const ProcessLogHeader& header() const { return header_; }
  // Whether a power cut may explain what is missing: the file is of another boot than this one, and
  // was not synced as a whole.
  bool MayLackRecords() const;
  // The position behind the last record, as the file says. After a power cut it may be wrong.
  LogPosition end() const { return end_; }
  // Whether records from `from` on were overwritten, after the database had them.
  bool Overwrote(LogPosition from) const {
    return !MayLackRecords() && from < end_ && end_ - from > ring_.size();
  }

  // Calls `visit` with the mutations of each record from `from` on, in order, and sets *reached to
  // the position behind the last one. The views are valid during the call only. An error of `visit`
  // ends it.
  //   Corruption  a record before end() is not intact, or was overwritten; not if MayLackRecords.
  //               Names the file and the offset.
  Status ForEach(LogPosition from, const std::function<Status(std::string_view mutations)>& visit,
                 LogPosition* reached) const;

  // Calls `take` with the mutations of each intact record at or behind `from`, in order, and `lost`
  // for each gap between them.
  void Salvage(LogPosition from, const std::function<void(std::string_view mutations)>& take,
               const std::function<void(LogPosition begin, LogPosition end)>& lost) const;

  // Writes a copy of the file to `dir`, where it does not exist, and syncs it. Its header says so:
  // of the copy nothing may be missing, whatever the boot; unless MayLackRecords. Blocks.
  Status WriteSynced(const std::string& dir) const;

  // Appends what the database of the store `uuid` lacks, whose record is `record`.
  //   Corruption  as ForEach; or the log is another store's, or ends before the database; or a
  //               record is not of mutations.
  //   NotFound    the log had to be read again, and was removed: a new owner has begun another.
  Status AppendUnwritten(const ProcessLogRecord& record, std::string_view uuid,
                         MutationBatch* batch) const;

 private:
  friend Status ReadProcessLog(const std::string& dir, uint64_t number,
                               ProcessLogContents* contents);

  Status Read(uint64_t number, bool with_records);
  Status ReadPages(int fd, uint64_t number);
  Status CheckReaches(LogPosition position) const;
  // Copies bytes of the ring. REQUIRES: not more than the capacity.
  std::string CopyOut(LogPosition position, uint64_t bytes) const;
  // The mutations of the record at `position`; false if no record is intact there. `limit`: the
  // record ends at or before it.
  bool ReadRecord(LogPosition position, LogPosition limit, std::string* mutations) const;

  std::string path_;
  ProcessLogHeader header_;
  LogPosition end_ = 0;
  std::string ring_;
};

// Reads the whole file.
//   NotFound      the file does not exist.
//   Corruption    its header is damaged, or it is shorter than that says; names the file.
//   NotSupported  of a newer version.
Status ReadProcessLog(const std::string& dir, uint64_t number, ProcessLogContents* contents);

// The process logs in a directory: mostly one, none after a close. A second one was left by an
// opening that was killed. Thread-compatible.
class FoundProcessLogs {
 public:
  // Reads all of them. One that cannot be read is an error only once it is needed.
  Status Read(const std::string& dir);

  // Appends what the database of the store `uuid` lacks, whose record is `record`.
  //   Corruption  as ProcessLogContents::AppendUnwritten; or the log in use is missing; or there is
  //               a LaterLog.
  //   NotFound    a new owner has begun another log: read again.
  Status AppendUnwritten(const ProcessLogRecord& record, std::string_view uuid,
                         MutationBatch* batch) const;

  // The name of a log that continues a later state than that of the database, so that the database
  // has lost records; empty: there is none.
  std::string LaterLog(const ProcessLogRecord& record, std::string_view uuid) const;

  // The logs that could be read, by number.
  const std::map<uint64_t, ProcessLogContents>& readable() const { return readable_; }
  // Ok, or the IOError of a log whose contents are unknown. Other logs that could not be read are
  // damaged, or of a newer version.
  Status AllAreKnown() const;

 private:
  std::string dir_;
  std::map<uint64_t, ProcessLogContents> readable_;
  std::map<uint64_t, Status> unreadable_;
};

}  // namespace wq::storage

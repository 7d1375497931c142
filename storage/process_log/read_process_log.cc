#include "storage/process_log/read_process_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/boot_id.h"
#include "base/file_calls.h"
#include "base/files.h"
#include "base/little_endian.h"
#include "base/mutant.h"
#include "storage/process_log/format.h"

namespace wq::storage {
namespace {

Status ReadLogBytes(int fd, const std::string& path, uint64_t offset, uint64_t bytes,
                    std::string* to) {
  to->resize(bytes);
  size_t got = 0;
  Status status = ReadAt(fd, path, offset, bytes, to->data(), &got);
  if (status.ok() && got < bytes) {
    status = Status::Corruption(path + " ends at byte " + std::to_string(offset + got) +
                                ", before its end");
  }
  return status;
}

}  // namespace

// Reads what precedes the ring.
Status ProcessLogContents::ReadPages(int fd, uint64_t number) {
  std::string pages;
  Status status = ReadLogBytes(fd, path_, 0, kLogDataOffset, &pages);
  if (!status.ok()) return status;
  status = DecodeLogHeader(std::string_view(pages).substr(0, kLogPageBytes), &header_);
  if (!status.ok()) return Status(status.code(), path_ + ": " + status.message());
  if (header_.number != number) {
    return Status::Corruption(path_ + ": the header is of process log " +
                              std::to_string(header_.number));
  }
  end_ = LittleEndianAt<uint64_t>(pages, kLogEndOffset);
  return status;
}

Status ProcessLogContents::Read(uint64_t number, bool with_records) {
  FileDescriptor file(-1);
  Status status = OpenToRead(path_, &file);
  if (!status.ok()) return status;
  struct stat info = {};
  if (fstat(file.get(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return Status::Corruption(path_ + " is not a file");
  }
  status = ReadPages(file.get(), number);
  if (!status.ok() || !with_records) return status;
  // After the end: every record before that end was complete when it was read.
  return ReadLogBytes(file.get(), path_, kLogDataOffset, header_.capacity, &ring_);
}

Status ReadProcessLog(const std::string& dir, uint64_t number, ProcessLogContents* contents) {
  contents->path_ = dir + "/" + ProcessLogName(number);
  return contents->Read(number, /*with_records=*/true);
}

std::string ProcessLogContents::CopyOut(LogPosition position, uint64_t bytes) const {
  const uint64_t offset = position % ring_.size();
  std::string copy = ring_.substr(offset, bytes);
  copy.append(ring_, 0, bytes - copy.size());
  return copy;
}

bool ProcessLogContents::ReadRecord(LogPosition position, LogPosition limit,
                                    std::string* mutations) const {
  if (limit - position < kLogRecordHeaderBytes) return false;
  const std::string header = CopyOut(position, kLogRecordHeaderBytes);
  const uint64_t bytes = LittleEndianAt<uint32_t>(header, 4);
  const LogPosition said = LittleEndianAt<uint64_t>(header, 8) ^ header_.nonce;
  if ((said != position && !WQ_MUTANT(log_laps_mixed)) ||
      LogRecordBytes(bytes) > limit - position) {
    return false;
  }
  *mutations = CopyOut(position + kLogRecordHeaderBytes, bytes);
  const LogRecordHeader expected = EncodeLogRecordHeader(said, header_.nonce, *mutations);
  return std::memcmp(header.data(), expected.data(), expected.size()) == 0;
}

bool ProcessLogContents::MayLackRecords() const {
  return !header_.boot_id.empty() && (header_.boot_id != BootId() || WQ_MUTANT(every_boot_is_new));
}

Status ProcessLogContents::ForEach(LogPosition from,
                                   const std::function<Status(std::string_view mutations)>& visit,
                                   LogPosition* reached) const {
  *reached = from;
  const bool may_lack_records = MayLackRecords();
  if (Overwrote(from)) {
    return Status::Corruption(path_ + " ends at position " + std::to_string(end_) +
                              ", too far behind the database's, " + std::to_string(from));
  }
  const LogPosition limit = from + ring_.size();
  std::string mutations;
  while (*reached < limit) {
    if (!ReadRecord(*reached, limit, &mutations)) {
      if (may_lack_records || *reached >= end_) return Status::Ok();
      return Status::Corruption(path_ + ": the record at offset " +
                                std::to_string(kLogDataOffset + *reached % ring_.size()) +
                                " is damaged");
    }
    Status status = visit(mutations);
    if (!status.ok()) return status;
    *reached += LogRecordBytes(mutations.size());
  }
  return Status::Ok();
}

// The database was read after this log, so a running owner may have written more to it. Then the
// log has reached that position by now. A copy of a running owner's store (WriteSynced) cannot show
// it.
Status ProcessLogContents::CheckReaches(LogPosition position) const {
  if (position <= end_ || header_.boot_id.empty() || MayLackRecords()) return Status::Ok();
  ProcessLogContents now;
  now.path_ = path_;
  Status status = now.Read(header_.number, /*with_records=*/false);
  if (status.ok() && position > now.end_) {
    status = Status::Corruption(path_ + " ends at position " + std::to_string(now.end_) +
                                ", before the database's, " + std::to_string(position));
  }
  return status;
}

Status ProcessLogContents::AppendUnwritten(const ProcessLogRecord& record, std::string_view uuid,
                                           MutationBatch* batch) const {
  if (header_.store_uuid != uuid && !WQ_MUTANT(foreign_log_taken)) {
    return Status::Corruption(path_ + " belongs to store " + header_.store_uuid + ", not to " +
                              std::string(uuid));
  }
  Status status = CheckReaches(record.position);
  if (!status.ok()) return status;
  LogPosition reached = 0;
  return ForEach(
      record.position,
      [&](std::string_view mutations) {
        return batch->AppendMutations(mutations)
                   ? Status::Ok()
                   : Status::Corruption(path_ + ": a record has no mutations of this format");
      },
      &reached);
}

void ProcessLogContents::Salvage(
    LogPosition from, const std::function<void(std::string_view mutations)>& take,
    const std::function<void(LogPosition begin, LogPosition end)>& lost) const {
  // A record says its own position, so each place is tried: neither `from` nor the end has to be
  // right.
  std::map<LogPosition, std::string> records;
  std::string mutations;
  for (uint64_t offset = 0; offset < ring_.size(); offset += 8) {
    const LogPosition position =
        LittleEndianAt<uint64_t>(CopyOut(offset, kLogRecordHeaderBytes), 8) ^ header_.nonce;
    if (position % ring_.size() == offset && position >= from &&
        position <= UINT64_MAX - ring_.size() &&
        ReadRecord(position, position + ring_.size(), &mutations)) {
      records.emplace(position, mutations);
    }
  }
  LogPosition reached = from;
  for (const auto& [position, record] : records) {
    if (position < reached) continue;  // In a log of version 1 a key may look like a record.
    if (reached < position) lost(reached, position);
    take(record);
    reached = position + LogRecordBytes(record.size());
  }
  if (reached < end_) lost(reached, end_);
}

Status ProcessLogContents::WriteSynced(const std::string& dir) const {
  ProcessLogHeader header = header_;
  if (!MayLackRecords()) header.boot_id.clear();
  std::string bytes = EncodeLogHeader(header);
  PutLittleEndian(end_, &bytes);
  bytes.resize(kLogDataOffset, '\0');
  bytes += ring_;
  const std::string path = dir + "/" + ProcessLogName(header.number);
  const FileDescriptor file(
      CurrentFileCalls().Open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return IOErrorOf("cannot create", path, errno);
  Status status = WriteAll(file.get(), path, bytes);
  if (status.ok() && CurrentFileCalls().Sync(file.get(), path) != 0) {
    status = IOErrorOf("cannot sync", path, errno);
  }
  return status;
}

// --- All logs of a directory ---

Status FoundProcessLogs::Read(const std::string& dir) {
  dir_ = dir;
  readable_.clear();
  unreadable_.clear();
  std::vector<uint64_t> numbers;
  Status status = ListProcessLogs(dir, &numbers);
  for (const uint64_t number : numbers) {
    ProcessLogContents contents;
    Status read = ReadProcessLog(dir, number, &contents);
    if (read.ok()) {
      readable_.emplace(number, std::move(contents));
    } else {
      unreadable_.emplace(number, std::move(read));
    }
  }
  return status;
}

Status FoundProcessLogs::AllAreKnown() const {
  for (const auto& [number, status] : unreadable_) {
    if (status.code() == StatusCode::kIOError) return status;
  }
  return Status::Ok();
}

// An owner writes the record of its log to the database before it appends to the log.
std::string FoundProcessLogs::LaterLog(const ProcessLogRecord& record,
                                       std::string_view uuid) const {
  for (auto log = readable_.lower_bound(record.number); log != readable_.end(); ++log) {
    const auto& [number, contents] = *log;
    if (contents.MayLackRecords() || contents.header().store_uuid != uuid) continue;
    if (number == record.number ? record.InUse() && contents.Overwrote(record.position)
                                : contents.end() > 0) {
      return ProcessLogName(number);
    }
  }
  return {};
}

Status FoundProcessLogs::AppendUnwritten(const ProcessLogRecord& record, std::string_view uuid,
                                         MutationBatch* batch) const {
  if (WQ_MUTANT(process_log_not_replayed)) return Status::Ok();
  if (const std::string later = LaterLog(record, uuid); !later.empty()) {
    return Status::Corruption(dir_ + "/" + later + " continues a later state of the database");
  }
  if (!record.InUse()) return Status::Ok();
  const auto log = readable_.find(record.number);
  if (log != readable_.end()) return log->second.AppendUnwritten(record, uuid, batch);
  const auto unreadable = unreadable_.find(record.number);
  if (unreadable != unreadable_.end()) return unreadable->second;
  const std::string path = dir_ + "/" + ProcessLogName(record.number);
  return access(path.c_str(), F_OK) == 0 ? Status::NotFound(path + " is new")
                                         : Status::Corruption(path + " is missing");
}

}  // namespace wq::storage

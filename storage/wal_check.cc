#include "storage/wal_check.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "storage/crc32c.h"
#include "storage/files.h"

namespace wq::storage {
namespace {

constexpr size_t kBlockBytes = size_t{32} << 10;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kBatchHeaderBytes = 12;
constexpr size_t kChunkBytes = 32 * kBlockBytes;

enum RecordType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

uint64_t ReadLittle(std::string_view bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

struct Header {
  uint32_t crc;
  size_t length;
  uint8_t type;
};

// REQUIRES: a header's bytes are there.
Header ReadHeader(std::string_view bytes) {
  return {static_cast<uint32_t>(ReadLittle(bytes, 4)), ReadLittle(bytes.substr(4), 2),
          static_cast<uint8_t>(bytes[6])};
}

bool IsKnownType(uint8_t type) { return type >= kFull && type <= kLast; }

// The checksum of a record's type and payload. REQUIRES: both are there.
uint32_t ChecksumOf(std::string_view record, size_t length) {
  return MaskCrc32c(Crc32c(0, record.substr(kHeaderBytes - 1, 1 + length)));
}

bool IsZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == bytes.npos; }

// Whether `bytes`, from a place where a record might begin to the end of the file, are a record's
// beginning.
bool IsTornRecord(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return true;
  const Header header = ReadHeader(bytes);
  return IsKnownType(header.type) && header.length > bytes.size() - kHeaderBytes;
}

// Whether the record at the start of `bytes`, which claims to go beyond the end of the file, is
// whole but for its length: then its checksum fits a shorter payload, which ends where the file
// ends or another record begins.
bool IsWholeButForLength(std::string_view bytes) {
  const Header header = ReadHeader(bytes);
  uint32_t crc = Crc32c(0, bytes.substr(kHeaderBytes - 1, 1));
  for (size_t end = kHeaderBytes;; ++end) {
    if (MaskCrc32c(crc) == header.crc && IsTornRecord(bytes.substr(end))) return true;
    if (end == bytes.size()) return false;
    crc = Crc32c(crc, bytes.substr(end, 1));
  }
}

// Whether a whole record that a batch begins with stands anywhere in `bytes`, the rest of a block.
// Keys are the users', and might look like one; so its sequence has to be plausible, too.
bool HoldsWholeRecord(std::string_view bytes, uint64_t least_sequence) {
  for (; bytes.size() >= kHeaderBytes + kBatchHeaderBytes; bytes.remove_prefix(1)) {
    const Header header = ReadHeader(bytes);
    if ((header.type == kFull || header.type == kFirst) && header.length >= kBatchHeaderBytes &&
        header.length <= bytes.size() - kHeaderBytes &&
        ReadLittle(bytes.substr(kHeaderBytes), 8) >= least_sequence &&
        ChecksumOf(bytes, header.length) == header.crc) {
      return true;
    }
  }
  return false;
}

// Goes over one log, block by block.
class WalScanner {
 public:
  WalScanner(const std::string& path, WalLook* look) : path_(path), look_(look) {}

  // The next block: whole, or the file's last.
  Status Block(std::string_view block);
  // After the last block.
  void End() { look_->torn |= in_record_; }

 private:
  Status Record(std::string_view block, size_t* at);
  Status Payload(const Header& header, std::string_view payload, size_t end);
  Status Torn(size_t at) {
    look_->torn = true;
    torn_at_ = offset_ + at;
    return Status::Ok();
  }
  Status Damaged(size_t at, std::string_view why) const {
    return Status::Corruption(path_ + ", offset " + std::to_string(offset_ + at) + ": " +
                              std::string(why));
  }

  const std::string& path_;
  WalLook* const look_;
  uint64_t offset_ = 0;     // Of the present block in the file.
  uint64_t torn_at_ = 0;    // Where the tail begins, if torn in the middle of a block.
  bool in_record_ = false;  // A first fragment has come, and not yet its last one.
  // The beginning of the payload of the present record: its fragments may be short.
  std::array<char, kBatchHeaderBytes> batch_header_ = {};
  size_t batch_header_bytes_ = 0;
};

Status WalScanner::Block(std::string_view block) {
  Status status;
  size_t at = 0;
  while (status.ok() && !look_->torn && at < block.size() && kBlockBytes - at >= kHeaderBytes) {
    status = Record(block, &at);
  }
  if (status.ok() && look_->torn && HoldsWholeRecord(block.substr(at), look_->next_sequence)) {
    status = Status::Corruption(path_ + ", offset " + std::to_string(torn_at_) +
                                ": an incomplete record with whole ones behind it");
  }
  offset_ += block.size();
  return status;
}

// One record at *at, or the torn tail. Moves *at behind a record.
Status WalScanner::Record(std::string_view block, size_t* at) {
  const std::string_view rest = block.substr(*at);
  if (rest.size() < kHeaderBytes) return Torn(*at);
  const Header header = ReadHeader(rest);
  if (IsZero(rest.substr(0, kHeaderBytes))) return Torn(*at);
  if (!IsKnownType(header.type)) return Damaged(*at, "a record of unknown type");
  if (header.length > kBlockBytes - *at - kHeaderBytes) {
    return Damaged(*at, "a record longer than its block");
  }
  if (header.length > rest.size() - kHeaderBytes) {
    if (IsWholeButForLength(rest)) return Damaged(*at, "a record with a wrong length");
    return Torn(*at);
  }
  if (ChecksumOf(rest, header.length) != header.crc) {
    return Damaged(*at, "a record with a wrong checksum");
  }
  const size_t end = *at + kHeaderBytes + header.length;
  Status status = Payload(header, rest.substr(kHeaderBytes, header.length), end);
  if (!status.ok()) return Damaged(*at, status.message());
  *at = end;
  return status;
}

// Takes a whole fragment, which ends at `end` in the present block.
Status WalScanner::Payload(const Header& header, std::string_view payload, size_t end) {
  const bool begins = header.type == kFull || header.type == kFirst;
  if (begins == in_record_) return Status::Corruption("a fragment out of place");
  if (begins) batch_header_bytes_ = 0;
  in_record_ = header.type == kFirst || header.type == kMiddle;
  const size_t taken = std::min(payload.size(), kBatchHeaderBytes - batch_header_bytes_);
  std::memcpy(batch_header_.data() + batch_header_bytes_, payload.data(), taken);
  batch_header_bytes_ += taken;
  if (in_record_) return Status::Ok();
  if (batch_header_bytes_ < kBatchHeaderBytes) {
    return Status::Corruption("a record too short for a batch");
  }
  const std::string_view batch(batch_header_.data(), kBatchHeaderBytes);
  const uint64_t sequence = ReadLittle(batch, 8);
  if (!look_->first_sequence) look_->first_sequence = sequence;
  look_->next_sequence = sequence + ReadLittle(batch.substr(8), 4);
  ++look_->records;
  look_->good_bytes = offset_ + end;
  return Status::Ok();
}

// Up to `bytes` of a file, fewer only at its end.
Status ReadChunk(int fd, const std::string& path, std::vector<char>* chunk, size_t* size) {
  *size = 0;
  while (*size < chunk->size()) {
    const ssize_t got = read(fd, chunk->data() + *size, chunk->size() - *size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IOErrorOf("cannot read", path, errno);
    if (got == 0) break;
    *size += static_cast<size_t>(got);
  }
  return Status::Ok();
}

// The names of the logs, oldest first.
Status ListWals(const std::string& dir, std::vector<std::string>* wals) {
  std::vector<std::string> names;
  Status status = ListDirectory(dir, &names);
  if (!status.ok()) return status;
  for (const std::string& name : names) {
    const size_t digits = name.find_first_not_of("0123456789");
    if (digits != 0 && digits != name.npos && name.substr(digits) == ".log") wals->push_back(name);
  }
  // Their numbers have at least six digits, with zeros in front.
  std::sort(wals->begin(), wals->end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  return status;
}

}  // namespace

Status CheckWal(const std::string& path, WalLook* look) {
  *look = WalLook();
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    if (errno == ENOENT) return Status::NotFound(path + " does not exist");
    return IOErrorOf("cannot open", path, errno);
  }
  WalScanner scanner(path, look);
  std::vector<char> chunk(kChunkBytes);
  size_t size = kChunkBytes;
  while (size == kChunkBytes) {
    Status status = ReadChunk(file.get(), path, &chunk, &size);
    for (size_t at = 0; status.ok() && at < size; at += kBlockBytes) {
      status = scanner.Block({chunk.data() + at, std::min(kBlockBytes, size - at)});
    }
    if (!status.ok()) return status;
  }
  scanner.End();
  return Status::Ok();
}

Status CheckWals(const std::string& dir) {
  std::vector<std::string> names;
  Status status = ListWals(dir, &names);
  if (!status.ok()) return status;
  std::string torn;            // The last log with a torn tail.
  uint64_t next_sequence = 0;  // After all whole records so far; 0 if there were none.
  for (const std::string& name : names) {
    const std::string path = dir + "/" + name;
    WalLook look;
    status = CheckWal(path, &look);
    // A running owner has removed it: what it held is in table files.
    if (status.code() == StatusCode::kNotFound) continue;
    if (!status.ok()) return status;
    // An owner that was killed while it recovered leaves the torn log beside a new one. That is
    // fine as long as the new one goes on where the whole records of the old one ended.
    if (look.first_sequence) {
      if (!torn.empty() && next_sequence != 0 && *look.first_sequence != next_sequence) {
        return Status::Corruption(torn + " ends inside a record, and " + name +
                                  " goes on after it");
      }
      torn.clear();
      next_sequence = look.next_sequence;
    }
    if (look.torn) torn = path + ", offset " + std::to_string(look.good_bytes);
  }
  return Status::Ok();
}

}  // namespace wq::storage

#include "storage/check/log_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/crc32c.h"
#include "base/files.h"
#include "base/little_endian.h"

namespace wq::storage {
namespace {

constexpr size_t kBlockBytes = size_t{32} << 10;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kChunkBytes = 32 * kBlockBytes;
constexpr size_t kSectorBytes = 512;  // A disk writes a sector completely or not at all.

enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct Header {
  uint32_t crc;
  size_t length;
  uint8_t type;
};

// REQUIRES: `bytes` has a header.
Header ReadHeader(std::string_view bytes) {
  return {LittleEndianAt<uint32_t>(bytes, 0), LittleEndianAt<uint16_t>(bytes, 4),
          static_cast<uint8_t>(bytes[6])};
}

bool IsKnownType(uint8_t type) { return type >= kFull && type <= kLast; }
bool Begins(uint8_t type) { return type == kFull || type == kFirst; }
bool Ends(uint8_t type) { return type == kFull || type == kLast; }

// The checksum of a fragment's type and payload. REQUIRES: `fragment` has both.
uint32_t ChecksumOf(std::string_view fragment, size_t length) {
  return MaskCrc32c(Crc32c(0, fragment.substr(kHeaderBytes - 1, 1 + length)));
}

bool IsZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == bytes.npos; }

// Whether `bytes`, from a possible beginning of a fragment to the end of the file, are an
// incomplete fragment.
bool IsTornFragment(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return true;
  const Header header = ReadHeader(bytes);
  return IsKnownType(header.type) && header.length > bytes.size() - kHeaderBytes;
}

// Whether only the length of the fragment at the start of `bytes`, which reaches beyond the end of
// the file, is wrong: then its checksum matches a shorter payload, which ends at the end of the
// file or where another fragment begins.
bool IsIntactExceptLength(std::string_view bytes) {
  const Header header = ReadHeader(bytes);
  uint32_t crc = Crc32c(0, bytes.substr(kHeaderBytes - 1, 1));
  for (size_t end = kHeaderBytes;; ++end) {
    if (MaskCrc32c(crc) == header.crc && IsTornFragment(bytes.substr(end))) return true;
    if (end == bytes.size()) return false;
    crc = Crc32c(crc, bytes.substr(end, 1));
  }
}

// Whether an intact fragment is at the start of `bytes`, the rest of a block.
bool IsIntact(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return false;
  const Header header = ReadHeader(bytes);
  return IsKnownType(header.type) && header.length <= bytes.size() - kHeaderBytes &&
         ChecksumOf(bytes, header.length) == header.crc;
}

// Whether the fragment at the start of `bytes` is intact except for one flipped bit of the
// checksum, the type or the payload. REQUIRES: `bytes` has all of it.
bool IsOneBitOff(std::string_view bytes, const Header& header) {
  const uint32_t crc = Crc32c(0, bytes.substr(kHeaderBytes - 1, 1 + header.length));
  if (std::has_single_bit(MaskCrc32c(crc) ^ header.crc)) return true;
  constexpr std::string_view kZero("\0", 1);
  const uint32_t of_zero = Crc32c(0, kZero);
  // How each bit of the last byte changes the checksum; then of the byte before it.
  std::array<uint32_t, 8> bits = {};
  for (size_t i = 0; i < bits.size(); ++i) {
    const char byte = static_cast<char>(1U << i);
    bits[i] = Crc32c(0, {&byte, 1}) ^ of_zero;
  }
  for (size_t n = 0; n < 1 + header.length; ++n) {
    for (uint32_t& bit : bits) {
      if (MaskCrc32c(crc ^ bit) == header.crc) return true;
      bit = Crc32c(bit, kZero) ^ of_zero;
    }
  }
  return false;
}

// Whether the damaged fragment at the start of `bytes`, the rest of a block from `offset` of the
// file, is zeros from the beginning of a sector to the block's end, and its own bytes before that.
// False if it could be intact with one wrong bit: it may end in zeros of its own. REQUIRES: its
// header is not all zeros.
bool IsZeroedFromASector(std::string_view bytes, uint64_t offset) {
  const uint64_t last = offset + bytes.find_last_not_of('\0');
  const uint64_t begin = (last / kSectorBytes + 1) * kSectorBytes - offset;  // Of the zeros.
  if (begin < kHeaderBytes)
    return true;  // The type is 0: no single bit clears it together with the bytes behind it.
  const Header header = ReadHeader(bytes);
  return IsKnownType(header.type) && begin < kHeaderBytes + header.length &&
         !IsOneBitOff(bytes, header) && !IsIntactExceptLength(bytes);
}

// The place in `bytes`, the rest of a block, of the first intact fragment that begins a record;
// npos if there is none.
size_t FindRecord(std::string_view bytes, const LogUse& use) {
  for (size_t at = 0; bytes.size() - at > kHeaderBytes; ++at) {
    const std::string_view rest = bytes.substr(at);
    const Header header = ReadHeader(rest);
    if (!Begins(header.type) || header.length == 0 || header.length > rest.size() - kHeaderBytes) {
      continue;
    }
    const std::string_view payload = rest.substr(kHeaderBytes, header.length);
    if ((!use.plausible || use.plausible(payload)) && IsIntact(rest)) return at;
  }
  return std::string_view::npos;
}

// Joins the fragments of one record.
class Assembly {
 public:
  // Whether a fragment of this type may be next.
  bool Fits(uint8_t type) const { return Begins(type) != in_record_; }
  // Takes a fragment that fits. True if it completes the record, which is in *record until the next
  // call.
  bool Take(uint8_t type, std::string_view payload, std::string_view* record) {
    if (type == kFull) {
      *record = payload;
      return true;
    }
    if (type == kFirst) bytes_.clear();
    bytes_.append(payload);
    in_record_ = !Ends(type);
    *record = bytes_;
    return !in_record_;
  }
  void Drop() { in_record_ = false; }
  bool in_record() const { return in_record_; }

 private:
  bool in_record_ = false;  // After a first fragment, before its last one.
  std::string bytes_;
};

// Checks one log, block by block.
class LogScanner {
 public:
  LogScanner(const std::string& path, const LogUse& use, LogSummary* summary)
      : path_(path), use_(use), summary_(summary) {}

  // The next block: a full one, or the file's last.
  Status Block(std::string_view block);
  // After the last block.
  void End() { summary_->torn |= assembly_.in_record(); }

 private:
  Status BehindTorn(std::string_view block, size_t at) const;
  Status Fragment(std::string_view block, size_t* at);
  Status Payload(const Header& header, std::string_view payload, size_t end);
  Status Torn(size_t at) {
    summary_->torn = true;
    torn_at_ = offset_ + at;
    return Status::Ok();
  }
  // Torn if only zeros follow to the end of the file; otherwise Corruption, of which `why` is the
  // reason.
  Status Zeroed(size_t at, std::string_view why) {
    summary_->zeroed = true;
    why_ = why;
    return Torn(at);
  }
  // For a damaged fragment, with which `rest` of the block begins.
  Status Broken(size_t at, std::string_view rest, std::string_view why) {
    const bool zeroed = use_.zeros_are_torn && IsZeroedFromASector(rest, offset_ + at);
    return zeroed ? Zeroed(at, why) : Damaged(at, why);
  }
  Status Damaged(size_t at, std::string_view why) const {
    return Status::Corruption(path_ + ", offset " + std::to_string(offset_ + at) + ": " +
                              std::string(why));
  }

  const std::string& path_;
  const LogUse& use_;
  LogSummary* const summary_;
  uint64_t offset_ = 0;   // Of the present block in the file.
  uint64_t torn_at_ = 0;  // Where the tail begins, if torn in the middle of a block.
  std::string_view why_;  // The reason of Corruption, if zeroed and more than zeros follow.
  Assembly assembly_;
};

Status LogScanner::Block(std::string_view block) {
  Status status;
  size_t at = 0;
  while (status.ok() && !summary_->torn && at < block.size() && kBlockBytes - at >= kHeaderBytes) {
    status = Fragment(block, &at);
  }
  if (status.ok() && summary_->torn) status = BehindTorn(block, at);
  offset_ += block.size();
  return status;
}

// Checks the present block from `at` on, which is behind the beginning of the torn tail. RocksDB
// passes over a block that begins with zeros.
Status LogScanner::BehindTorn(std::string_view block, size_t at) const {
  const bool is_later = offset_ > torn_at_;
  std::string_view why;
  if (is_later && summary_->zeroed && !IsZero(block)) {
    why = why_;
  } else if (FindRecord(block.substr(at), use_) != block.npos) {
    why = "an incomplete record with whole ones behind it";
  } else if (is_later && !IsZero(block.substr(0, kHeaderBytes)) && !IsTornFragment(block)) {
    why = "zeros with a part of a record behind them";
  } else {
    return Status::Ok();
  }
  return Status::Corruption(path_ + ", offset " + std::to_string(torn_at_) + ": " +
                            std::string(why));
}

// Checks one fragment, or the torn tail, at *at. Moves *at behind a fragment.
Status LogScanner::Fragment(std::string_view block, size_t* at) {
  const std::string_view rest = block.substr(*at);
  if (rest.size() < kHeaderBytes) return Torn(*at);
  const Header header = ReadHeader(rest);
  if (IsZero(rest.substr(0, kHeaderBytes))) {
    if (!use_.zeros_are_torn || !assembly_.in_record()) return Torn(*at);
    constexpr std::string_view kWhy = "zeros in a record";
    return IsZero(rest) ? Zeroed(*at, kWhy) : Damaged(*at, kWhy);
  }
  if (!IsKnownType(header.type)) return Broken(*at, rest, "a record of unknown type");
  if (header.length > kBlockBytes - *at - kHeaderBytes) {
    return Damaged(*at, "a record longer than its block");
  }
  if (header.length > rest.size() - kHeaderBytes) {
    if (IsIntactExceptLength(rest)) return Damaged(*at, "a record with a wrong length");
    return Torn(*at);
  }
  if (ChecksumOf(rest, header.length) != header.crc) {
    return Broken(*at, rest, "a record with a wrong checksum");
  }
  const size_t end = *at + kHeaderBytes + header.length;
  Status status = Payload(header, rest.substr(kHeaderBytes, header.length), end);
  if (!status.ok()) return Damaged(*at, status.message());
  *at = end;
  return status;
}

// Takes an intact fragment, which ends at `end` in the present block.
Status LogScanner::Payload(const Header& header, std::string_view payload, size_t end) {
  if (!assembly_.Fits(header.type)) return Status::Corruption("a fragment out of place");
  std::string_view record;
  if (!assembly_.Take(header.type, payload, &record)) return Status::Ok();
  Status status = use_.take(record);
  if (!status.ok()) return status;
  ++summary_->records;
  summary_->valid_bytes = offset_ + end;
  return status;
}

// Calls `visit` with each block of a file.
Status ForEachBlock(const std::string& path,
                    const std::function<Status(std::string_view block)>& visit) {
  FileDescriptor file(-1);
  if (Status s = OpenToRead(path, &file); !s.ok()) return s;
  std::vector<char> chunk(kChunkBytes);
  size_t size = kChunkBytes;
  for (uint64_t offset = 0; size == kChunkBytes; offset += size) {
    Status status = ReadAt(file.get(), path, offset, kChunkBytes, chunk.data(), &size);
    for (size_t at = 0; status.ok() && at < size; at += kBlockBytes) {
      status = visit({chunk.data() + at, std::min(kBlockBytes, size - at)});
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

// Takes the intact records of one log, block by block.
class LogSalvage {
 public:
  LogSalvage(const LogUse& use, const std::function<void(const LogGap&)>& lost)
      : use_(use), lost_(lost) {}

  Status Block(std::string_view block);
  void End() { Good(offset_, offset_); }

 private:
  // Bytes before `begin` that were not taken are lost; all before `end` is processed.
  void Good(uint64_t begin, uint64_t end) {
    if (begin > good_) lost_({good_, begin});
    good_ = end;
  }

  const LogUse& use_;
  const std::function<void(const LogGap&)>& lost_;
  uint64_t offset_ = 0;  // Of the present block in the file.
  uint64_t good_ = 0;    // Everything before it was taken, or reported as lost.
  uint64_t begin_ = 0;   // The beginning of the record in assembly_.
  Assembly assembly_;
};

Status LogSalvage::Block(std::string_view block) {
  size_t at = 0;
  while (block.size() - at >= kHeaderBytes && kBlockBytes - at >= kHeaderBytes) {
    const std::string_view rest = block.substr(at);
    const Header header = ReadHeader(rest);
    if (!IsIntact(rest) || !(assembly_.Fits(header.type) || Begins(header.type))) {
      assembly_.Drop();
      const size_t found = FindRecord(rest.substr(1), use_);
      if (found == rest.npos) break;
      at += 1 + found;
      continue;
    }
    if (Begins(header.type)) {
      assembly_.Drop();
      begin_ = offset_ + at;
    }
    at += kHeaderBytes + header.length;
    std::string_view record;
    if (!assembly_.Take(header.type, rest.substr(kHeaderBytes, header.length), &record)) continue;
    Status status = use_.take(record);
    if (!status.ok()) return status;
    Good(begin_, offset_ + at);
  }
  offset_ += block.size();
  // The unused bytes at a block's end are not lost.
  if (good_ + kHeaderBytes > offset_ && block.size() == kBlockBytes) good_ = offset_;
  return Status::Ok();
}

}  // namespace

Status ScanLog(const std::string& path, const LogUse& use, LogSummary* summary) {
  *summary = LogSummary();
  LogScanner scanner(path, use, summary);
  Status status =
      ForEachBlock(path, [&scanner](std::string_view block) { return scanner.Block(block); });
  if (status.ok()) scanner.End();
  return status;
}

Status SalvageLog(const std::string& path, const LogUse& use,
                  const std::function<void(const LogGap&)>& lost) {
  LogSalvage salvage(use, lost);
  Status status =
      ForEachBlock(path, [&salvage](std::string_view block) { return salvage.Block(block); });
  if (status.ok()) salvage.End();
  return status;
}

}  // namespace wq::storage

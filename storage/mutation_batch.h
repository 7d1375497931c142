// MutationBatch: a sequence of puts and erases of records that a Storage applies all or none.
//
//   MutationBatch batch;
//   batch.Put(Family::kDirty, key, value);
//   Status s = storage->Write(batch, /*sync=*/true);
//
// It is one flat buffer, so that appending a batch to another is a memcpy. Its bytes have the
// format of RocksDB's WriteBatch, with each family's number as column family id: they go to the log
// without a conversion. (Tests read them back with RocksDB.)
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace wq::storage {

// The column families. Numbers and names are on disk, and the numbers are the ids that RocksDB
// assigns to families created in this order: never change or reuse one.
enum class Family : uint8_t {
  kDefault = 0,     // "default": the store's and the queues' own records.
  kDirty = 1,       // "dirty": pending keys of the default lane, by block of sequences.
  kLanes = 2,       // "lanes": pending keys of every other lane, by lane, then as in dirty.
  kDelayed = 3,     // "delayed": delayed keys by ready time.
  kFailures = 4,    // "failures": failure counts by key.
  kQuarantine = 5,  // "quarantine": quarantined keys, with their failures, by key.
  kCursors = 6,     // "cursors": the callers' own bytes by name.
  kSources = 7,     // "sources": sources and their objects. Since format version 3.
};
inline constexpr int kFamilyCount = 8;
inline constexpr const char* kFamilyNames[kFamilyCount] = {
    "default", "dirty", "lanes", "delayed", "failures", "quarantine", "cursors", "sources"};

struct Mutation {
  bool is_put = false;  // Otherwise an erase, and `value` is empty.
  Family family = Family::kDefault;
  std::string_view key;
  std::string_view value;
};

class MutationBatch {
 public:
  void Put(Family family, std::string_view key, std::string_view value) {
    Put(family, JoinedKey{{}, key}, value);
  }
  void Erase(Family family, std::string_view key) { Erase(family, JoinedKey{{}, key}); }

  // A record's key in two parts, which saves the caller joining them.
  struct JoinedKey {
    std::string_view prefix;
    std::string_view rest;
    size_t size() const { return prefix.size() + rest.size(); }
  };
  void Put(Family family, JoinedKey key, std::string_view value) {
    char* to = Extend(family, key, LengthBytes(value.size()) + value.size());
    *to++ = static_cast<char>(family == Family::kDefault ? kPut : kFamilyPut);
    to = WriteKey(family, key, to);
    to = WriteLength(value.size(), to);
    std::copy(value.begin(), value.end(), to);
  }
  void Erase(Family family, JoinedKey key) {
    char* to = Extend(family, key, 0);
    *to++ = static_cast<char>(family == Family::kDefault ? kErase : kFamilyErase);
    WriteKey(family, key, to);
  }

  void Append(const MutationBatch& other) {
    if (other.empty()) return;
    if (buffer_.empty()) buffer_.resize(kHeaderBytes);
    buffer_.append(other.buffer_, kHeaderBytes);
    count_ += other.count_;
  }

  // Appends what mutations() returned of a batch of `count` mutations, which is not empty.
  void AppendEncoded(std::string_view mutations, size_t count) {
    if (buffer_.empty()) buffer_.resize(kHeaderBytes);
    buffer_.append(mutations);
    count_ += count;
  }

  // The bytes of all mutations; valid until the batch changes.
  std::string_view mutations() const {
    return std::string_view(buffer_).substr(std::min(buffer_.size(), kHeaderBytes));
  }
  // Appends what mutations() of another batch returned, after a check of each length and tag.
  // False: these bytes are not mutations; nothing was appended.
  bool AppendMutations(std::string_view bytes) {
    size_t count = 0;
    for (std::string_view rest = bytes; !rest.empty(); ++count) {
      if (!SkipMutation(&rest)) return false;
    }
    if (count > 0) AppendEncoded(bytes, count);
    return true;
  }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  size_t bytes() const { return buffer_.empty() ? 0 : buffer_.size() - kHeaderBytes; }

  void Clear() {
    buffer_.resize(std::min(buffer_.size(), kHeaderBytes));  // Keeps its memory.
    count_ = 0;
  }
  void Swap(MutationBatch& other) noexcept {
    buffer_.swap(other.buffer_);
    std::swap(count_, other.count_);
  }

  // Calls visit(const Mutation&) for each in order. The views live until the batch changes.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    if (empty()) return;
    const char* at = buffer_.data() + kHeaderBytes;
    const char* const end = buffer_.data() + buffer_.size();
    while (at != end) visit(Read(&at));
  }

  // For a Storage on RocksDB, which writes a sequence number into the bytes that it is given: Lend
  // moves them out with a complete header. REQUIRES: Return is the next call.
  std::string Lend() {
    WQ_CHECK(count_ <= UINT32_MAX, "a batch of more than 2^32 mutations");
    buffer_.resize(std::max(buffer_.size(), kHeaderBytes));
    for (size_t i = 0; i < sizeof(uint32_t); ++i) {  // Little endian.
      buffer_[kSequenceBytes + i] = static_cast<char>(count_ >> (8 * i) & 0xFF);
    }
    return std::exchange(buffer_, {});
  }
  void Return(std::string&& bytes) { buffer_ = std::move(bytes); }

 private:
  // The header: RocksDB's sequence number, and the number of mutations, filled in by Lend.
  static constexpr size_t kSequenceBytes = 8;
  static constexpr size_t kHeaderBytes = kSequenceBytes + sizeof(uint32_t);

  // A mutation is its tag; the family, unless it is kDefault; the key, and the value of a put, each
  // after its length as a varint. The tags are RocksDB's and are in its logs.
  enum Tag : uint8_t { kErase = 0, kPut = 1, kFamilyErase = 4, kFamilyPut = 5 };
  static_assert(kFamilyCount < 0x80, "a family's number is a varint of one byte");

  static size_t LengthBytes(size_t size) {
    size_t count = 1;
    for (size_t rest = size >> 7; rest != 0; rest >>= 7) ++count;
    return count;
  }

  // Appends space for a mutation of this key and `more` bytes after it; returns its beginning.
  char* Extend(Family family, JoinedKey key, size_t more) {
    const size_t key_bytes = key.size();
    WQ_CHECK(key_bytes <= UINT32_MAX && more <= UINT32_MAX, "a record over 4 GiB");
    const size_t at = std::max(buffer_.size(), kHeaderBytes);
    buffer_.resize(at + (family == Family::kDefault ? 1 : 2) + LengthBytes(key_bytes) + key_bytes +
                   more);
    ++count_;
    return buffer_.data() + at;
  }

  static char* WriteKey(Family family, JoinedKey key, char* to) {
    if (family != Family::kDefault) *to++ = static_cast<char>(family);
    to = WriteLength(key.size(), to);
    to = std::copy(key.prefix.begin(), key.prefix.end(), to);
    return std::copy(key.rest.begin(), key.rest.end(), to);
  }
  static char* WriteLength(size_t size, char* to) {
    for (; size >= 0x80; size >>= 7) *to++ = static_cast<char>(size | 0x80);
    *to++ = static_cast<char>(size);
    return to;
  }
  static Mutation Read(const char** at) {
    const auto tag = static_cast<uint8_t>(*(*at)++);
    Mutation mutation;
    mutation.is_put = tag == kPut || tag == kFamilyPut;
    if (tag >= kFamilyErase) mutation.family = static_cast<Family>(*(*at)++);
    mutation.key = ReadBytes(at);
    if (mutation.is_put) mutation.value = ReadBytes(at);
    return mutation;
  }
  // The same with checks, for bytes from a file. False: no mutation is at the beginning of *rest.
  static bool SkipMutation(std::string_view* rest) {
    const auto tag = static_cast<uint8_t>(rest->front());
    rest->remove_prefix(1);
    if (tag != kErase && tag != kPut && tag != kFamilyErase && tag != kFamilyPut) return false;
    if (tag >= kFamilyErase) {
      if (rest->empty() || static_cast<uint8_t>(rest->front()) >= kFamilyCount) return false;
      rest->remove_prefix(1);
    }
    const bool is_put = tag == kPut || tag == kFamilyPut;
    return SkipBytes(rest) && (!is_put || SkipBytes(rest));
  }
  static bool SkipBytes(std::string_view* rest) {
    size_t size = 0;
    for (unsigned shift = 0; shift <= 28; shift += 7) {
      if (rest->empty()) return false;
      const auto byte = static_cast<uint8_t>(rest->front());
      rest->remove_prefix(1);
      size |= static_cast<size_t>(byte & 0x7F) << shift;
      if (byte >= 0x80) continue;
      if (size > rest->size()) return false;
      rest->remove_prefix(size);
      return true;
    }
    return false;
  }
  static std::string_view ReadBytes(const char** at) {
    size_t size = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(*(*at)++);
      size |= static_cast<size_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    const std::string_view bytes(*at, size);
    *at += size;
    return bytes;
  }

  std::string buffer_;  // Empty, or the header and the mutations.
  size_t count_ = 0;
};

}  // namespace wq::storage

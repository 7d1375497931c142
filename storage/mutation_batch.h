// MutationBatch: puts and erases over families, in order, that a Storage applies all or none.
//
// Thread-compatible. One flat buffer, so that appending a batch to another is a memcpy.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "storage/check.h"

namespace wq::storage {

// The column families. The numbers and names are on disk: never change or reuse one.
enum class Family : uint8_t {
  kDefault = 0,     // "default": the store's and the queues' own records.
  kDirty = 1,       // "dirty": pending keys of the default lane, in the order of their blocks.
  kLanes = 2,       // "lanes": pending keys of every other lane, by lane, then as in dirty.
  kDelayed = 3,     // "delayed": delayed keys by ready time.
  kFailures = 4,    // "failures": failure counts by key.
  kQuarantine = 5,  // "quarantine": quarantined keys, with their failures, by key.
  kCursors = 6,     // "cursors": the callers' own positions by name.
};
inline constexpr int kFamilyCount = 7;
inline constexpr const char* kFamilyNames[kFamilyCount] = {
    "default", "dirty", "lanes", "delayed", "failures", "quarantine", "cursors"};

struct Mutation {
  bool is_put = false;  // Otherwise an erase, and `value` is empty.
  Family family = Family::kDefault;
  std::string_view key;
  std::string_view value;
};

class MutationBatch {
 public:
  void Put(Family family, std::string_view key, std::string_view value) {
    AppendRecord(true, family, key, value);
  }
  void Erase(Family family, std::string_view key) { AppendRecord(false, family, key, {}); }

  void Append(const MutationBatch& other) {
    buffer_.append(other.buffer_);
    count_ += other.count_;
  }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  size_t bytes() const { return buffer_.size(); }

  void Clear() {
    buffer_.clear();
    count_ = 0;
  }
  void Swap(MutationBatch& other) noexcept {
    buffer_.swap(other.buffer_);
    std::swap(count_, other.count_);
  }

  // Calls visit(const Mutation&) for each in order. The views live until the batch changes.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    size_t at = 0;
    while (at < buffer_.size()) {
      Header header;
      std::memcpy(&header, buffer_.data() + at, sizeof header);
      at += sizeof header;
      const std::string_view key(buffer_.data() + at, header.key_bytes);
      at += header.key_bytes;
      const std::string_view value(buffer_.data() + at, header.value_bytes);
      at += header.value_bytes;
      visit(Mutation{header.is_put != 0, static_cast<Family>(header.family), key, value});
    }
  }

 private:
  // In memory only, hence in the machine's byte order.
  struct Header {
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint8_t is_put;
    uint8_t family;
  };

  void AppendRecord(bool is_put, Family family, std::string_view key, std::string_view value) {
    WQ_CHECK(key.size() <= UINT32_MAX && value.size() <= UINT32_MAX, "a record over 4 GiB");
    const Header header{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size()),
                        static_cast<uint8_t>(is_put ? 1 : 0), static_cast<uint8_t>(family)};
    buffer_.append(reinterpret_cast<const char*>(&header), sizeof header);
    buffer_.append(key);
    buffer_.append(value);
    ++count_;
  }

  std::string buffer_;
  size_t count_ = 0;
};

}  // namespace wq::storage

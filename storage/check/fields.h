// Fields: numbers and strings taken off the front of what RocksDB has written. Internal to storage/.
//
//   Fields fields(bytes);
//   const uint64_t number = fields.Number();
//   if (!fields.good()) …   // It was cut off.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq::storage {

// Takes fields off the front of a record. After the first one that is cut off, all are zero.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  uint64_t Number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  uint32_t Small() {
    const uint64_t value = Number();
    good_ &= value <= UINT32_MAX;
    return static_cast<uint32_t>(value);
  }
  std::string_view Bytes() { return Take(Number()); }
  std::string_view Take(uint64_t size) {
    good_ &= size <= bytes_.size();
    if (!good_) return {};
    const std::string_view value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return value;
  }
  bool more() const { return good_ && !bytes_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace wq::storage

// FieldReader: parses varints and strings from the front of bytes. Internal to storage/.
//
//   FieldReader fields(bytes);
//   const uint64_t number = fields.Number();
//   if (!fields.good()) …   // The bytes end too early.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq::storage {

// After the first field that is cut off, every field is zero or empty.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  // A varint.
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
  // A varint of at most 32 bits.
  uint32_t Small() {
    const uint64_t value = Number();
    good_ &= value <= UINT32_MAX;
    return static_cast<uint32_t>(value);
  }
  // A string after its length.
  std::string_view Bytes() { return Take(Number()); }
  // The next `size` bytes.
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

// A fuzz target's input as the choices of a random program: bytes, numbers, keys.
//
//   CallInput in(data, size);
//   while (in.more()) Call(in.Byte() % 16, in.Bytes());
//
// Thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace wq::fuzz {

// The unread rest of the input. After its end every choice is 0.
class CallInput {
 public:
  CallInput(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool more() const { return left_ > 0; }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint64_t Number() {  // A small number, or a limit of an integer type.
    static constexpr std::array<uint64_t, 8> kOdd = {
        UINT64_MAX,        uint64_t{1} << 63, INT64_MAX, UINT32_MAX,
        uint64_t{1} << 31, INT32_MAX,         1000,      0};
    const uint8_t byte = Byte();
    return byte < 0xF8 ? byte : kOdd[byte - 0xF8];
  }
  // One of few different keys, so that calls use the same keys; sometimes an empty or a long key.
  std::string Bytes() {
    const uint8_t byte = Byte();
    if (byte == 0xFF) return std::string(5000, 'k');
    return byte == 0xFE ? std::string()
                        : std::string("a\0\xFF z", 5).substr(byte % 5, 1 + byte / 5 % 2);
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace wq::fuzz

// Integers as little-endian bytes, for formats on disk.
//
//   PutLittleEndian(uint32_t{7}, &bytes);
//   const auto seven = LittleEndianAt<uint32_t>(bytes, 0);
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace wq {

// Appends sizeof(T) bytes.
template <typename T>
void PutLittleEndian(T value, std::string* to) {
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (size_t i = 0; i < sizeof(T); ++i) {
    to->push_back(static_cast<char>(bits & 0xFFU));
    bits = static_cast<std::make_unsigned_t<T>>(bits >> 8U);
  }
}

// REQUIRES: `from` has sizeof(T) bytes at `offset`. T is longer than a byte.
template <typename T>
T LittleEndianAt(std::string_view from, size_t offset) {
  std::make_unsigned_t<T> bits = 0;
  for (size_t i = sizeof(T); i > 0; --i) {
    bits = static_cast<std::make_unsigned_t<T>>(bits << 8U) |
           static_cast<unsigned char>(from[offset + i - 1]);
  }
  return static_cast<T>(bits);
}

}  // namespace wq

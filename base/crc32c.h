// CRC-32C (Castagnoli), the checksum of RocksDB's write-ahead log. Internal to storage/.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq {

// The checksum of what `crc` was computed of, followed by `bytes`. Crc32c(0, "123456789") is
// 0xe3069283.
uint32_t Crc32c(uint32_t crc, std::string_view bytes);

// The same, on machines without an instruction for it.
uint32_t Crc32cByTable(uint32_t crc, std::string_view bytes);

// As RocksDB stores it, so that a checksum of bytes that hold checksums stays a good one.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

}  // namespace wq

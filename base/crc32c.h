// CRC-32C (Castagnoli), the checksum of RocksDB's write-ahead log. Thread-safe. Internal to
// storage/.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq {

// Extends the checksum `crc` of some bytes by `bytes`. Crc32c(0, "123456789") is 0xe3069283.
uint32_t Crc32c(uint32_t crc, std::string_view bytes);

// As Crc32c, but always by a table, without the CPU's instruction.
uint32_t Crc32cByTable(uint32_t crc, std::string_view bytes);

// The form in which RocksDB stores a checksum. It is masked, because a CRC of bytes that contain
// plain CRCs is weak.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

}  // namespace wq

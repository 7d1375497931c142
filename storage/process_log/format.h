// The format of a process log's file (storage/process_log.h). Numbers are little-endian; they are
// on disk and never change. Internal to storage/.
//
//   offset  bytes      content
//   0       4096       the header: kProcessLogMagic (8), version (4), masked CRC-32C of all that
//                      follows in the header (4), number (8), capacity (8), nonce (8), the store's
//                      uuid and the boot id, each as its length (1) and its text; the rest is zeros
//   4096    4096       end (8): the position behind the last record; the rest is zeros
//   8192    capacity   the ring: a record at position p begins at 8192 + p modulo capacity, and
//                      continues at 8192 if it reaches the end of the file
//
// A record is
//   masked CRC-32C of the mutations, begun with position / 8 modulo 2^32 instead of 0 (4), their
//   length (4), the record's position XOR the nonce (8), the mutations (MutationBatch::mutations),
//   padding to a multiple of 8
// It is intact if the checksum matches and the position is the expected one: so the remains of an
// earlier lap are not taken for a record, nor are zeros, nor a header of which a part was stored.
// The nonce is random, so nobody can choose a key whose bytes are taken for a record.
//
// Version 1 has no nonce in the header; its records are those of nonce 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/process_log.h"

namespace wq::storage {

inline constexpr std::string_view kProcessLogMagic = "wq-ring\n";
inline constexpr uint32_t kProcessLogVersion = 2;
inline constexpr size_t kLogPageBytes = 4096;
inline constexpr size_t kLogEndOffset = kLogPageBytes;
inline constexpr size_t kLogDataOffset = 2 * kLogPageBytes;
inline constexpr size_t kLogRecordHeaderBytes = 16;
inline constexpr size_t kLogLengthOffset = 4;  // In a record; it is aligned, so never divided.

// The bytes of a record with this many bytes of mutations.
inline uint64_t LogRecordBytes(uint64_t mutations) {
  return (kLogRecordHeaderBytes + mutations + 7) / 8 * 8;
}

// The first page. REQUIRES: uuid and boot id have at most 255 bytes.
std::string EncodeLogHeader(const ProcessLogHeader& header);
// Corruption, without the file's name, if the page is not what EncodeLogHeader returns;
// NotSupported: of another version.
Status DecodeLogHeader(std::string_view page, ProcessLogHeader* header);

// What precedes the mutations of a record.
using LogRecordHeader = std::array<char, kLogRecordHeaderBytes>;
LogRecordHeader EncodeLogRecordHeader(LogPosition position, uint64_t nonce,
                                      std::string_view mutations);

}  // namespace wq::storage

// The format of a segment (storage/history_log.h). Numbers are little-endian.
//
//   offset  bytes  content
//   0       8      kHistoryMagic
//   8       8      wall time at which the segment was begun
//   16             blocks
//
// A block is
//   masked CRC-32C of all that follows in the block (4), bytes of the events as stored (4), their
//   bytes before compression (4), bytes of the queue's name (4), the queue's creation time (8),
//   time of the first event (8), lost events (8), the queue's name, the events as stored: a zstd
//   frame, or as they are if that is not shorter
// A reader takes the blocks up to the first one that is not intact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/history_log.h"

namespace wq::storage {

inline constexpr std::string_view kHistoryMagic = "wq-hist1";
inline constexpr size_t kSegmentHeaderBytes = 16;
inline constexpr size_t kBlockHeaderBytes = 40;

std::string EncodeSegmentHeader(int64_t begun_at_us);
// False: `segment` does not begin with a header.
bool DecodeSegmentHeader(std::string_view segment, int64_t* begun_at_us);

void EncodeBlock(const HistoryBlock& block, std::string_view events, std::string* encoded);

struct DecodedBlock {
  HistoryBlock block;
  std::string_view stored;  // Points into the segment.
  size_t events_bytes = 0;
  size_t bytes = 0;  // Of the whole block.
};
// False: `from` does not begin with an intact block.
bool DecodeBlock(std::string_view from, DecodedBlock* decoded);
// False: the events cannot be decompressed.
bool DecodeEvents(const DecodedBlock& decoded, std::string* events);

}  // namespace wq::storage

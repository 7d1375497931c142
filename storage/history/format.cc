#include "storage/history/format.h"

#include <zstd.h>

#include "base/crc32c.h"
#include "base/little_endian.h"
#include "base/names.h"

namespace wq::storage {
namespace {

constexpr int kFastest = 1;  // Of zstd's levels.

// Appends the stored form of the events.
void PutEvents(std::string_view events, std::string* to) {
  const size_t begin = to->size();
  to->resize(begin + ZSTD_compressBound(events.size()));
  const size_t bytes =
      ZSTD_compress(to->data() + begin, to->size() - begin, events.data(), events.size(), kFastest);
  if (ZSTD_isError(bytes) != 0 || bytes >= events.size()) {
    to->resize(begin);
    to->append(events);
  } else {
    to->resize(begin + bytes);
  }
}

}  // namespace

std::string EncodeSegmentHeader(int64_t begun_at_us) {
  std::string header(kHistoryMagic);
  PutLittleEndian(begun_at_us, &header);
  return header;
}

bool DecodeSegmentHeader(std::string_view segment, int64_t* begun_at_us) {
  if (segment.size() < kSegmentHeaderBytes || !segment.starts_with(kHistoryMagic)) return false;
  *begun_at_us = LittleEndianAt<int64_t>(segment, kHistoryMagic.size());
  return true;
}

void EncodeBlock(const HistoryBlock& block, std::string_view events, std::string* encoded) {
  encoded->clear();
  encoded->resize(8);  // The checksum and the stored bytes, which are known at the end.
  PutLittleEndian(static_cast<uint32_t>(events.size()), encoded);
  PutLittleEndian(static_cast<uint32_t>(block.queue.size()), encoded);
  PutLittleEndian(block.created_at_us, encoded);
  PutLittleEndian(block.first_at_us, encoded);
  PutLittleEndian(block.lost, encoded);
  encoded->append(block.queue);
  const size_t begin = encoded->size();
  PutEvents(events, encoded);
  std::string head;
  PutLittleEndian(static_cast<uint32_t>(encoded->size() - begin), &head);
  encoded->replace(4, 4, head);
  head.clear();
  PutLittleEndian(MaskCrc32c(Crc32c(0, std::string_view(*encoded).substr(4))), &head);
  encoded->replace(0, 4, head);
}

bool DecodeBlock(std::string_view from, DecodedBlock* decoded) {
  if (from.size() < kBlockHeaderBytes) return false;
  const size_t stored = LittleEndianAt<uint32_t>(from, 4);
  decoded->events_bytes = LittleEndianAt<uint32_t>(from, 8);
  const size_t name = LittleEndianAt<uint32_t>(from, 12);
  if (decoded->events_bytes > kMaxHistoryBlockBytes || stored > decoded->events_bytes ||
      name > kMaxNameBytes || stored + name > from.size() - kBlockHeaderBytes) {
    return false;
  }
  decoded->bytes = kBlockHeaderBytes + name + stored;
  if (LittleEndianAt<uint32_t>(from, 0) !=
      MaskCrc32c(Crc32c(0, from.substr(4, decoded->bytes - 4)))) {
    return false;
  }
  decoded->block = {.queue = std::string(from.substr(kBlockHeaderBytes, name)),
                    .created_at_us = LittleEndianAt<int64_t>(from, 16),
                    .first_at_us = LittleEndianAt<int64_t>(from, 24),
                    .lost = LittleEndianAt<uint64_t>(from, 32)};
  decoded->stored = from.substr(kBlockHeaderBytes + name, stored);
  return true;
}

bool DecodeEvents(const DecodedBlock& decoded, std::string* events) {
  if (decoded.stored.size() == decoded.events_bytes) {
    events->assign(decoded.stored);
    return true;
  }
  events->resize(decoded.events_bytes);
  const size_t got =
      ZSTD_decompress(events->data(), events->size(), decoded.stored.data(), decoded.stored.size());
  return ZSTD_isError(got) == 0 && got == decoded.events_bytes;
}

}  // namespace wq::storage

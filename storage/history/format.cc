#include "storage/history/format.h"

#include <zstd.h>

#include <cstring>
#include <type_traits>

#include "base/crc32c.h"

namespace wq::storage {
namespace {

constexpr int kFastest = 1;  // Of zstd's levels.
constexpr size_t kMaxNameBytes = 64;

template <typename T>
void PutNumber(T value, std::string* to) {
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (size_t i = 0; i < sizeof(T); ++i) {
    to->push_back(static_cast<char>(bits & 0xFFU));
    bits = static_cast<std::make_unsigned_t<T>>(bits >> 8U);
  }
}

template <typename T>
T TakeNumber(std::string_view from, size_t offset) {
  std::make_unsigned_t<T> bits = 0;
  for (size_t i = sizeof(T); i > 0; --i) {
    bits = static_cast<std::make_unsigned_t<T>>(bits << 8U) |
           static_cast<unsigned char>(from[offset + i - 1]);
  }
  return static_cast<T>(bits);
}

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
  PutNumber(begun_at_us, &header);
  return header;
}

bool DecodeSegmentHeader(std::string_view segment, int64_t* begun_at_us) {
  if (segment.size() < kSegmentHeaderBytes || !segment.starts_with(kHistoryMagic)) return false;
  *begun_at_us = TakeNumber<int64_t>(segment, kHistoryMagic.size());
  return true;
}

void EncodeBlock(const HistoryBlock& block, std::string_view events, std::string* encoded) {
  encoded->clear();
  encoded->resize(8);  // The checksum and the stored bytes, which are known at the end.
  PutNumber(static_cast<uint32_t>(events.size()), encoded);
  PutNumber(static_cast<uint32_t>(block.queue.size()), encoded);
  PutNumber(block.created_at_us, encoded);
  PutNumber(block.first_at_us, encoded);
  PutNumber(block.lost, encoded);
  encoded->append(block.queue);
  const size_t begin = encoded->size();
  PutEvents(events, encoded);
  std::string head;
  PutNumber(static_cast<uint32_t>(encoded->size() - begin), &head);
  encoded->replace(4, 4, head);
  head.clear();
  PutNumber(MaskCrc32c(Crc32c(0, std::string_view(*encoded).substr(4))), &head);
  encoded->replace(0, 4, head);
}

bool DecodeBlock(std::string_view from, DecodedBlock* decoded) {
  if (from.size() < kBlockHeaderBytes) return false;
  const size_t stored = TakeNumber<uint32_t>(from, 4);
  decoded->events_bytes = TakeNumber<uint32_t>(from, 8);
  const size_t name = TakeNumber<uint32_t>(from, 12);
  if (decoded->events_bytes > kMaxHistoryBlockBytes || stored > decoded->events_bytes ||
      name > kMaxNameBytes || stored + name > from.size() - kBlockHeaderBytes) {
    return false;
  }
  decoded->bytes = kBlockHeaderBytes + name + stored;
  if (TakeNumber<uint32_t>(from, 0) != MaskCrc32c(Crc32c(0, from.substr(4, decoded->bytes - 4)))) {
    return false;
  }
  decoded->block = {.queue = std::string(from.substr(kBlockHeaderBytes, name)),
                    .created_at_us = TakeNumber<int64_t>(from, 16),
                    .first_at_us = TakeNumber<int64_t>(from, 24),
                    .lost = TakeNumber<uint64_t>(from, 32)};
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

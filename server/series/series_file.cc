// The bytes of Series. All numbers are little endian:
//
//   "wqSERIES"         the magic
//   uint32             the version of this format, 1
//   uint32             the number of queues; for each, by name:
//     uint32, bytes    its name
//     2 rings          the hour's, then the day's: the slot of the last point as int64, then
//                      kKept points of kSeriesFields IEEE 754 floats, the oldest first
//   uint64             the XXH3 of all before
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "base/little_endian.h"
#include "base/names.h"
#include "server/series/series.h"

namespace wq {
namespace {

constexpr std::string_view kMagic = "wqSERIES";
constexpr uint32_t kVersion = 1;
constexpr size_t kHashBytes = 8;

// False: too few bytes are left.
template <typename T>
bool Take(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) {
    return false;
  }
  *value = LittleEndianAt<T>(*bytes, 0);
  bytes->remove_prefix(sizeof(T));
  return true;
}

int64_t FirstSlot(int64_t last) { return last - static_cast<int64_t>(QueueSeries::kKept) + 1; }

void PutRing(const Ring& ring, std::string* bytes) {
  PutLittleEndian(ring.last(), bytes);
  for (int64_t slot = FirstSlot(ring.last()); slot <= ring.last(); ++slot) {
    const Point point = ring.At(slot);
    for (const float value : point.values()) {
      PutLittleEndian(std::bit_cast<uint32_t>(value), bytes);
    }
  }
}

bool TakeRing(std::string_view* bytes, Ring* ring) {
  int64_t last = 0;
  if (!Take(bytes, &last) || last < -1 || last > INT64_MAX / QueueSeries::kDayStepUs) {
    return false;
  }
  for (int64_t slot = FirstSlot(last); slot <= last; ++slot) {
    Point point;
    for (float& value : point.values()) {
      uint32_t bits = 0;
      if (!Take(bytes, &bits)) {
        return false;
      }
      value = std::bit_cast<float>(bits);
      if (!std::isfinite(value) || (value < 0 && value != kNotMeasured)) {
        return false;
      }
    }
    ring->Set(slot, point);
  }
  return true;
}

bool TakeQueue(std::string_view* bytes, std::string* name, QueueSeries* series) {
  uint32_t size = 0;
  if (!Take(bytes, &size) || size > kMaxNameBytes || size > bytes->size()) {
    return false;
  }
  *name = bytes->substr(0, size);
  bytes->remove_prefix(size);
  return TakeRing(bytes, series->mutable_hour()) && TakeRing(bytes, series->mutable_day());
}

// Takes the magic, and the hash at the end.
bool CheckHash(std::string_view* bytes) {
  if (bytes->size() < kMagic.size() + kHashBytes || !bytes->starts_with(kMagic)) {
    return false;
  }
  std::string_view hash_bytes = bytes->substr(bytes->size() - kHashBytes);
  bytes->remove_suffix(kHashBytes);
  uint64_t hash = 0;
  const bool right = Take(&hash_bytes, &hash) && hash == XXH3_64bits(bytes->data(), bytes->size());
  bytes->remove_prefix(kMagic.size());
  return right;
}

bool TakeQueues(std::string_view* bytes, Series::Queues* queues) {
  uint32_t version = 0;
  uint32_t count = 0;
  if (!Take(bytes, &version) || version != kVersion || !Take(bytes, &count) ||
      count > Series::kMaxQueues) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    std::string name;
    QueueSeries series;
    if (!TakeQueue(bytes, &name, &series)) {
      return false;
    }
    queues->emplace(std::move(name), std::move(series));
  }
  return true;
}

}  // namespace

std::string Series::ToBytes() const {
  std::string bytes(kMagic);
  PutLittleEndian(kVersion, &bytes);
  {
    const MutexLock lock(mu_);
    PutLittleEndian(static_cast<uint32_t>(queues_.size()), &bytes);
    for (const auto& [name, series] : queues_) {
      PutLittleEndian(static_cast<uint32_t>(name.size()), &bytes);
      bytes += name;
      PutRing(series.hour(), &bytes);
      PutRing(series.day(), &bytes);
    }
  }
  PutLittleEndian(uint64_t{XXH3_64bits(bytes.data(), bytes.size())}, &bytes);
  return bytes;
}

Status Series::FromBytes(std::string_view bytes) {
  Queues queues;
  if (!CheckHash(&bytes) || !TakeQueues(&bytes, &queues) || !bytes.empty()) {
    return Status::Corruption("the series are damaged, or of another version");
  }
  const MutexLock lock(mu_);
  queues_ = std::move(queues);
  return {};
}

}  // namespace wq

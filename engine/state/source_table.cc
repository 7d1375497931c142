#include "engine/state/source_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

#include "base/check.h"

namespace wq {
namespace {

uint64_t Seed() {
  static const uint64_t seed = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return seed;
}

uint64_t KeysHash(std::string_view encoded) {
  return XXH3_64bits_withSeed(encoded.data(), encoded.size(), Seed()) << 1;
}

}  // namespace

uint64_t StableHash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

ObjectId::ObjectId(std::string_view object) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(object.data(), object.size(), Seed());
  low = hash.low64;
  high = static_cast<uint16_t>(hash.high64);
}

ObjectFacts::ObjectFacts(const storage::ObjectRecord& record) : keys(KeysHash(record.keys)) {
  if (record.version.empty()) {
    const auto& tombstone = record.tombstone;
    version = XXH3_64bits_withSeed(tombstone.data(), tombstone.size(), Seed()) << 32 |
              static_cast<uint32_t>(record.scope << 1);
    return;
  }
  const uint64_t of_source[] = {record.fingerprint, record.scope, Seed()};
  const uint64_t seed = XXH3_64bits(of_source, sizeof of_source);
  const uint64_t hash = XXH3_64bits_withSeed(record.version.data(), record.version.size(), seed);
  version = hash << 1 | kVersionBit;
}

bool ObjectFacts::HasKeys(std::string_view encoded) const {
  return (keys | kOwedBit) == (KeysHash(encoded) | kOwedBit);
}

ObjectFacts* TrackedSource::Find(const ObjectId& object) {
  Part& part = PartOf(object);
  const auto it = part.find(object);
  return it == part.end() ? nullptr : &it->second;
}

void TrackedSource::Put(const ObjectId& object, ObjectFacts* before, const ObjectFacts& facts) {
  ObjectFacts* const now =
      before != nullptr ? before : &PartOf(object).try_emplace(object, facts).first->second;
  objects_ += before == nullptr ? 1 : 0;
  See(now);
  now->version = facts.version;
  now->keys = facts.keys;
}

void TrackedSource::Leave(const ObjectId& object) {
  const auto it = in_flight_.find(object);
  WQ_CHECK(it != in_flight_.end(), "a call of an object leaves that did not enter");
  if (--it->second == 0) in_flight_.erase(it);
}

size_t TrackedSource::InFlight(const ObjectId& object) const {
  const auto it = in_flight_.find(object);
  return it == in_flight_.end() ? 0 : it->second;
}

void TrackedSource::Restore(const ObjectId& object, const ObjectFacts& facts) {
  objects_ += PartOf(object).try_emplace(object, facts).second ? 1 : 0;
}

void TrackedSource::Erase(const ObjectId& object) {
  Part& part = PartOf(object);
  const auto it = part.find(object);
  if (it == part.end()) return;
  seen_ -= Seen(it->second) ? 1 : 0;
  --objects_;
  part.erase(it);
}

void TrackedSource::BeginList() {
  seen_ = 0;
  if (++list_ != 0) return;
  // Once in 65 535 lists: the numbers begin anew.
  list_ = 1;
  for (Part& part : parts_) {
    for (auto& [_, facts] : part) facts.list = 0;
  }
}

}  // namespace wq

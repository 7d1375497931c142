// SourceTable: of each object of a queue's sources (wq/source.h), what tells whether an observation
// changes it: 28 bytes, whatever the length of its name, its version and its keys.
//
// An object is found by 80 bits of a hash of its name, with a seed that each process draws anew.
// Of a million objects two are equal with a probability of one in 10^12; they would then count as
// one object.
//
// Thread-compatible: a part of QueueState.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "engine/order/position.h"
#include "storage/records.h"

namespace wq {

// The same in every process: it is on disk.
uint64_t StableHash(std::string_view bytes);

struct [[gnu::packed, gnu::aligned(2)]] ObjectId {
  uint64_t low = 0;
  uint16_t high = 0;

  explicit ObjectId(std::string_view object);
  friend bool operator==(const ObjectId& a, const ObjectId& b) {
    return a.low == b.low && a.high == b.high;
  }
};

struct [[gnu::packed, gnu::aligned(2)]] ObjectFacts {
  // Hash of its version, fingerprint and scope. If it has no version: of its tombstone, and in the
  // lower half, of its scope. The last bit tells which.
  uint64_t version = 0;
  uint64_t keys = 0;  // Hash of its keys, sorted; without the last bit: see Owe.
  uint16_t list = 0;  // The last list during which it was seen: see TrackedSource.

  explicit ObjectFacts(const storage::ObjectRecord& record);
  bool HasVersion() const { return (version & kVersionBit) != 0; }
  // Of two that have no version.
  bool SameScope(const ObjectFacts& other) const {
    return static_cast<uint32_t>(version) == static_cast<uint32_t>(other.version);
  }
  bool HasKeys(std::string_view encoded) const;
  bool SameKeys(const ObjectFacts& other) const { return ((keys ^ other.keys) & ~kOwedBit) == 0; }
  bool SameRow(const ObjectFacts& other) const {
    return version == other.version && SameKeys(other);
  }
  // A later observation was refused. The next Put forgets that.
  void Owe() { keys |= kOwedBit; }
  bool Owed() const { return (keys & kOwedBit) != 0; }

 private:
  static constexpr uint64_t kVersionBit = 1;
  static constexpr uint64_t kOwedBit = 1;
};

// One source. The objects are in parts, so that no growth of one holds the queue's lock for long.
class TrackedSource {
 public:
  storage::SourceRecord Record(std::string_view name) const {
    return {.id = id, .name = name, .fingerprint = fingerprint, .scope = scope};
  }

  // Begins to load what Find reads into the cache.
  void Prefetch(const ObjectId& object) const { PartOf(object).prefetch(object); }
  // nullptr: it is not there. Valid until the next Put or Erase.
  ObjectFacts* Find(const ObjectId& object);
  void See(ObjectFacts* facts) {  // Of an object that is there.
    seen_ += Seen(*facts) ? 0 : 1;
    facts->list = list_;
  }
  // Puts what is known of the object, which was seen now. `before`: what Find returns for it.
  void Put(const ObjectId& object, ObjectFacts* before, const ObjectFacts& facts);
  void Erase(const ObjectId& object);
  // Calls of an object that go on after they have released the lock. What is observed meanwhile
  // must not pass for all that has happened.
  void Enter(const ObjectId& object) { ++in_flight_[object]; }
  void Leave(const ObjectId& object);
  size_t InFlight(const ObjectId& object) const;
  // During recovery: it is put as not seen.
  void Restore(const ObjectId& object, const ObjectFacts& facts);

  // From now on no object counts as seen.
  void BeginList();
  bool Seen(const ObjectFacts& facts) const { return facts.list == list_; }
  bool Unseen(const ObjectId& object) {  // It is there, and was not seen.
    const ObjectFacts* const facts = Find(object);
    return facts != nullptr && !Seen(*facts);
  }
  size_t objects() const { return objects_; }
  size_t unseen() const { return objects_ - seen_; }

  const storage::SourceId id = 0;
  uint64_t fingerprint = 0;  // Hashes of those of the last list.
  uint64_t scope = 0;
  uint64_t open_list = 0;  // The list that may go on; 0: none.
  Position position = 0;   // Of the last change: it covers an observation that changes nothing.
  uint64_t unchanged = 0;  // Observations since this object was made,
  uint64_t changed = 0;    // filtered ones too,
  uint64_t deleted = 0;    // and deletions.

  explicit TrackedSource(storage::SourceId source_id) : id(source_id) {}

 private:
  struct Hash {
    size_t operator()(const ObjectId& object) const { return object.low; }
  };
  using Part = absl::flat_hash_map<ObjectId, ObjectFacts, Hash>;
  static_assert(sizeof(Part::value_type) == 28);

  Part& PartOf(const ObjectId& object) { return parts_[object.high % parts_.size()]; }
  const Part& PartOf(const ObjectId& object) const { return parts_[object.high % parts_.size()]; }

  std::array<Part, 256> parts_;
  absl::flat_hash_map<ObjectId, size_t, Hash> in_flight_;
  size_t objects_ = 0;
  size_t seen_ = 0;    // Since BeginList.
  uint16_t list_ = 1;  // Never 0. The number of the list, or of the time before the first.
};

// An object as it was found. Valid as long as `facts` is.
struct TrackedObject {
  TrackedSource* source;
  const ObjectId& id;
  ObjectFacts* facts;  // nullptr: it is not there.
};

// By name. A removed source is none.
using SourceTable = std::map<std::string, std::unique_ptr<TrackedSource>, std::less<>>;

}  // namespace wq

#include "engine/queue/observe_call.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <iterator>

#include "base/mutant.h"

namespace wq {
namespace {

// As EncodeKeys writes them: none, and the object alone. A row that has them needs no read.
constexpr std::string_view kKnownKeys[] = {"", {"\0", 1}};
// How often another row may be found than the index has: it may be changed and changed back
// meanwhile. Then what was found counts: the files have lost the other one.
constexpr int kMostMisread = 10;

}  // namespace

std::string EncodeKeySet(const Observation& observation) {
  if (observation.keys.size() < 2) {
    return storage::EncodeKeys(observation.keys, observation.object);
  }
  std::vector<std::string_view> keys(observation.keys.begin(), observation.keys.end());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return storage::EncodeKeys(keys, observation.object);
}

void Queue::Impl::ObserveCall::AppendKeys(std::span<const std::string_view> more) {
  if (keys.size() + more.size() > kFew) {
    absl::flat_hash_set<std::string_view> there(keys.begin(), keys.end());
    std::copy_if(more.begin(), more.end(), std::back_inserter(keys),
                 [&there](std::string_view key) { return there.insert(key).second; });
    return;
  }
  for (const std::string_view key : more) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(key);
    }
  }
}

storage::ObjectRecord Queue::Impl::ObserveCall::RecordOf(const TrackedObject& object,
                                                         bool* needs_row) const {
  const ObjectFacts* const facts = object.facts;
  storage::ObjectRecord record{.source = object.source->id,
                               .object = observation.object,
                               .version = observation.version,
                               .fingerprint = object.source->fingerprint,
                               .scope = object.source->scope,
                               .keys = encoded,
                               .tombstone = observation.tombstone};
  if (!observation.filtered) {
    return record;
  }
  const bool follows = FollowsAll(facts, record);
  if (!follows) {
    record.version = {};
  }
  if (facts == nullptr) {
    return record;
  }
  if (!observation.keys.empty()) {
    *needs_row = !follows && !facts->HasKeys(encoded);
    record.keys = *needs_row && HasRead(*facts) ? joined : encoded;
  } else if (!KnowsRow(*facts, &record)) {
    *needs_row = true;
    if (HasRead(*facts)) {
      record.keys = row.keys;
      record.tombstone = observation.tombstone.empty() ? row.tombstone : observation.tombstone;
    }
  }
  return record;
}

bool Queue::Impl::ObserveCall::FollowsAll(const ObjectFacts* facts,
                                          const storage::ObjectRecord& record) const {
  return facts != nullptr && facts->HasVersion() &&
         ((!facts->Owed() && !overtakes) || WQ_MUTANT(owed_observation_forgotten)) &&
         (!unseen || facts->version == ObjectFacts(record).version);
}

void Queue::Impl::ObserveCall::JoinKeys() {
  std::vector<std::string_view> all(observation.keys.begin(), observation.keys.end());
  all.insert(all.end(), row_keys.begin(), row_keys.end());
  joined = EncodeKeySet({.object = observation.object, .keys = all});
  static_cast<void>(storage::DecodeKeys(joined, observation.object, &all));  // Each once.
  if (!CheckObservation({.object = observation.object, .keys = all}).ok()) {
    joined = row.keys;
  }
}

bool Queue::Impl::ObserveCall::KnowsRow(const ObjectFacts& facts,
                                        storage::ObjectRecord* record) const {
  const auto* const known =
      std::find_if(std::begin(kKnownKeys), std::end(kKnownKeys),
                   [&facts](std::string_view known_keys) { return facts.HasKeys(known_keys); });
  if (known == std::end(kKnownKeys) || observation.tombstone.empty()) {
    return false;
  }
  record->keys = *known;
  return true;
}

void Queue::Impl::ObserveCall::CompareRead(const ObjectFacts& facts) {
  const bool differs = read.has_value() && !read->SameRow(facts);
  misread += differs && asked.has_value() && asked->SameRow(facts) ? 1 : 0;
}

bool Queue::Impl::ObserveCall::HasRead(const ObjectFacts& facts) const {
  return read.has_value() &&
         (read->SameRow(facts) || (misread >= kMostMisread && asked->SameRow(facts)));
}

void Queue::Impl::ObserveCall::ForgetRow() {
  if (read.has_value()) {
    read.reset();
    row_keys.clear();
    in_row.clear();
    keys.resize(own_keys);
  }
}

bool Queue::Impl::ObserveCall::IsAnotherRow() const {
  return !row.object.empty() && (observation.version.empty() || row.version != observation.version);
}

void Queue::Impl::ObserveCall::ReturnRow() {
  *observation.before = {.object = std::string(row.object),
                         .version = std::string(row.version),
                         .keys = {row_keys.begin(), row_keys.end()},
                         .tombstone = std::string(row.tombstone)};
}

}  // namespace wq

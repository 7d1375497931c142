// The part of NaiveQueue that is a source.

#include <algorithm>
#include <array>
#include <set>

#include "tests/model/naive_queue.h"
#include "wq/source.h"

namespace wq::model {

std::string NaiveQueue::Observe(const Call& call) {
  const bool deleted = call.op == Op::kObserveDeleted;
  std::set<std::string> observed(call.observed.begin(), call.observed.end());
  const auto found = objects_.find(call.key);
  Object* const row = found == objects_.end() ? nullptr : &found->second;
  const bool unseen = row != nullptr && !row->seen;
  if (row != nullptr && !deleted) {
    row->seen = true;  // Even if the observation is refused.
  }
  const auto refuse = [&](const char* why) {
    if (row != nullptr && (!call.filtered || unseen)) {
      row->owed = true;
    }
    return why;
  };
  size_t bytes = 0;
  bool bad = false;
  for (const std::string& key : call.observed) {
    bytes += key.size();
    bad = bad || key.empty() || (key.size() > options_.max_key_bytes && !IsProcessing(key));
  }
  if (call.key.empty() || bad || bytes > kMaxObjectKeysBytes) {
    return refuse("InvalidArgument");
  }
  const bool filtered = call.filtered && !deleted;
  const bool keeps_keys = filtered && call.observed.empty();
  const bool is_row = row != nullptr && row->version == call.version && row->listed == listed_;
  const bool follows =
      !filtered || (row != nullptr && !row->version.empty() && !row->owed && (!unseen || is_row));
  const std::string version = follows ? call.version : "";
  if (!follows && row != nullptr && !keeps_keys) {
    std::set<std::string> both = row->keys;
    both.insert(observed.begin(), observed.end());
    size_t bytes_of_both = 0;
    for (const std::string& key : both) {
      bytes_of_both += key.size();
    }
    observed = bytes_of_both <= kMaxObjectKeysBytes ? both : row->keys;
  }
  const bool same_tombstone =
      row != nullptr && (row->tombstone == call.tombstone || (filtered && call.tombstone.empty()));
  const bool alike = row != nullptr && row->version == version && (filtered || !row->owed) &&
                     (version.empty() ? same_tombstone && row->listed.scope == listed_.scope
                                      : row->listed == listed_);
  const bool same_version = alike && (!version.empty() || filtered);
  if (same_version && !deleted && (keeps_keys || row->keys == observed)) {
    stands_on_ = source_written_;
    return "unchanged 0+0+0";
  }
  if (call.asks_before && row != nullptr && !alike &&
      (call.version.empty() || row->version != call.version)) {
    refuse("");
    std::string text = "was " + row->version + " " + row->tombstone;
    for (const std::string& key : row->keys) {
      text += " " + key;
    }
    return text;
  }
  std::vector<std::string> keys;
  if (!filtered) {
    std::vector<std::string> all = call.observed;
    if (row != nullptr) {
      all.insert(all.end(), row->keys.begin(), row->keys.end());
    }
    for (const std::string& key : all) {
      const bool stays = same_version && !version.empty() && !deleted && observed.contains(key) &&
                         row->keys.contains(key);
      if (!stays && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  const bool gathers = options_.debounce.quiet.count() > 0;
  size_t needed = 0;
  for (const std::string& name : keys) {
    const Key& key = keys_[name];
    const bool held = key.quarantined && options_.quarantined_add == QuarantinedAdd::kHold;
    const bool stays = call.if_absent && (key.Known() || key.failures > 0);
    needed += gathers || key.queued || key.processing || held || stays ? 0 : 1;
  }
  const size_t places = std::min(needed, options_.max_pending);
  if (places > 0 && Pending().size() + places > options_.max_pending) {
    return refuse("Full");
  }
  std::array<size_t, 3> counts = {};
  for (const std::string& name : keys) {
    const std::string result = Add({.op = Op::kAdd,
                                    .key = name,
                                    .lane = call.lane,
                                    .group = call.group,
                                    .reason = call.reason,
                                    .if_absent = call.if_absent},
                                   /*has_room=*/true);
    ++counts[result == "added" ? 0 : result == "deduplicated" ? 1 : 2];
  }
  const bool changed = !deleted || row != nullptr || !keys.empty();
  if (deleted) {
    objects_.erase(call.key);
  } else {
    Object& now = objects_[call.key];
    now = {version, listed_, keeps_keys ? now.keys : observed,
           keeps_keys && call.tombstone.empty() ? now.tombstone : call.tombstone, true};
  }
  source_written_ = row != nullptr || !deleted ? calls_ : source_written_;
  stands_on_ = std::max(stands_on_, source_written_);
  return std::string(changed ? "changed " : "unchanged ") + std::to_string(counts[0]) + "+" +
         std::to_string(counts[1]) + "+" + std::to_string(counts[2]);
}

std::string NaiveQueue::EndList(const Call& call) {
  if (!listing_) {
    return "InvalidArgument";
  }
  for (const auto& [name, object] : std::map<std::string, Object>(objects_)) {
    if (!object.seen && object.listed.scope != listed_.scope) {
      objects_.erase(name);
    } else if (!object.seen) {
      Call deletion = call;
      deletion.op = Op::kObserveDeleted;
      deletion.key = name;
      if (const std::string result = Observe(deletion); result == "Full") {
        return result;
      }
    }
  }
  listing_ = false;
  stands_on_ = std::max(stands_on_, source_written_);
  return "ok";
}

}  // namespace wq::model

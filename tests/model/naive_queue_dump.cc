// The state of a NaiveQueue, as an Image and as text.

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "tests/model/naive_queue.h"

namespace wq::model {
namespace {

uint64_t HashOf(const std::string& text) {
  return text.empty() ? 0 : XXH3_64bits(text.data(), text.size());
}

}  // namespace

// In the order of the disk.
std::vector<const NaiveQueue::Entry*> NaiveQueue::Pending() const {
  std::vector<const Entry*> pending;
  for (const Entry& entry : keys_) {
    if (entry.second.queued || entry.second.processing) {
      pending.push_back(&entry);
    }
  }
  std::stable_sort(pending.begin(), pending.end(), [](const Entry* a, const Entry* b) {
    return a->second.lane != b->second.lane ? a->second.lane > b->second.lane
                                            : a->second.place < b->second.place;
  });
  return pending;
}

std::string NaiveQueue::Dump() {
  size_t counts[7] = {};
  for (const auto& [name, key] : keys_) {
    counts[0] += key.queued ? 1 : 0;
    counts[1] += key.processing ? 1 : 0;
    counts[2] += key.delay ? 1 : 0;
    counts[3] += key.failures > 0 && !key.quarantined ? 1 : 0;
    counts[4] += key.quarantined ? 1 : 0;
    counts[5] += IsStuck(key) ? 1 : 0;
    counts[6] += key.queued && (Closed("") || GroupClosed(key.group)) ? 1 : 0;
  }
  std::string text;
  for (const size_t count : counts) {
    text += std::to_string(count) + " ";
  }
  return text + OnDisk().ToString();
}

Image NaiveQueue::OnDisk() const {
  Image image;
  for (const auto& [name, key] : keys_) {
    if (key.delay) {
      image.delayed.push_back({name, key.delay->stored_lane, key.delay->ready_at_us, key.group,
                               key.delay_reasons, key.delay->resync});
    }
    if (key.quarantined) {
      image.quarantined[name] = {key.stored_lane, key.failures, key.group};
    } else if (key.failures > 0) {
      image.failing[name] = key.failures;
    }
  }
  std::stable_sort(image.delayed.begin(), image.delayed.end(),
                   [](const auto& a, const auto& b) { return a.ready_at_us < b.ready_at_us; });
  for (const Entry* entry : Pending()) {
    std::vector<std::string> reasons = entry->second.held_reasons;
    Merge(entry->second.reasons, &reasons);
    image.pending.push_back({entry->first, entry->second.lane, entry->second.group,
                             entry->second.place, std::move(reasons)});
  }
  image.CountAges();
  image.cursors = cursors_;
  image.fingerprint = HashOf(listed_.fingerprint);
  image.scope = HashOf(listed_.scope);
  for (const auto& [name, object] : objects_) {
    std::string& row = image.objects[name];
    row = object.version + "/" + std::to_string(HashOf(object.listed.fingerprint)) + "/" +
          std::to_string(HashOf(object.listed.scope));
    for (const std::string& key : object.keys) {
      row += "," + key;
    }
    row += "/" + object.tombstone;
  }
  image.paused = paused_;
  if (paused_ && pause_ends_us_) {
    image.paused_until_us = *pause_ends_us_;
    image.paused_at_us = paused_at_us_;
  }
  image.limiter_state = limiter_calls_ == 0 ? "" : std::to_string(limiter_calls_);
  return image;
}

bool NaiveQueue::IsProcessing(const std::string& name) const {
  const auto it = keys_.find(name);
  return it != keys_.end() && it->second.processing;
}

}  // namespace wq::model

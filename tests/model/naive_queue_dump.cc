// What a NaiveQueue knows, in words.

#include <algorithm>

#include "tests/model/naive_queue.h"

namespace wq::model {

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
  size_t counts[5] = {};
  for (const auto& [name, key] : keys_) {
    counts[0] += key.queued ? 1 : 0;
    counts[1] += key.processing ? 1 : 0;
    counts[2] += key.delay ? 1 : 0;
    counts[3] += key.failures > 0 && !key.quarantined ? 1 : 0;
    counts[4] += key.quarantined ? 1 : 0;
  }
  std::string text;
  for (const size_t count : counts) {
    text += std::to_string(count) + " ";
  }
  return text + DumpRecords();
}

std::string NaiveQueue::DumpRecords() const {
  std::vector<const Entry*> delayed;
  std::string failing;
  std::string quarantined;
  for (const Entry& entry : keys_) {
    const auto& [name, key] = entry;
    if (key.delay) {
      delayed.push_back(&entry);
    }
    if (key.quarantined) {
      quarantined += " " + name + "@" + std::to_string(key.lane) + "=" +
                     std::to_string(key.failures) + "/" + key.group;
    } else if (key.failures > 0) {
      failing += " " + name + "=" + std::to_string(key.failures);
    }
  }
  std::stable_sort(delayed.begin(), delayed.end(), [](const Entry* a, const Entry* b) {
    return a->second.delay->ready_at_us < b->second.delay->ready_at_us;
  });
  std::string text = "| pending";
  for (const Entry* entry : Pending()) {
    text +=
        " " + entry->first + "@" + std::to_string(entry->second.lane) + "/" + entry->second.group;
  }
  text += " | delayed";
  for (const Entry* entry : delayed) {
    text += " " + entry->first + "@" + std::to_string(entry->second.delay->lane) + "+" +
            std::to_string(entry->second.delay->ready_at_us) + "/" + entry->second.group;
  }
  text += " | failing" + failing + " | quarantined" + quarantined + " | cursors";
  for (const auto& [name, value] : cursors_) {
    text += " " + name + "=" + value;
  }
  if (paused_) {
    text += " | paused " + std::to_string(pause_ends_us_.value_or(0));
  }
  return text;
}

}  // namespace wq::model

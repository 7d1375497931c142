// ItemAges: items by the time since when they are in a state, the oldest first. Thread-compatible:
// guarded by its queue's lock.
//
// Not a part of an Item: a queue that does not watch the state pays nothing for it.
#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/order/item.h"

namespace wq {

class ItemAges {
 public:
  // REQUIRES: the item is not in.
  void Insert(const Item* item, int64_t since_us) {
    const Place place{.since_us = since_us, .serial = ++last_serial_};
    places_.emplace(item, place);
    by_age_.insert(place);
  }
  // Without effect if the item is not in.
  void Erase(const Item* item) {
    if (places_.empty()) {
      return;
    }
    if (const auto it = places_.find(item); it != places_.end()) {
      passed_ -= last_passed_ < it->second ? 0 : 1;
      by_age_.erase(it->second);
      places_.erase(it);
    }
  }

  // Since when the oldest item is in that Pass has not passed; nullopt: it has passed all.
  std::optional<int64_t> NextSinceUs() const {
    const auto next = by_age_.upper_bound(last_passed_);
    return next == by_age_.end() ? std::nullopt : std::optional<int64_t>(next->since_us);
  }
  // Passes that item: it stays in. REQUIRES: there is one.
  void Pass() {
    last_passed_ = *by_age_.upper_bound(last_passed_);
    ++passed_;
  }
  size_t passed() const { return passed_; }  // Of those that are in.

 private:
  struct Place {
    int64_t since_us = INT64_MIN;
    uint64_t serial = 0;  // The order of equal times.

    friend bool operator<(const Place& a, const Place& b) {
      return std::pair(a.since_us, a.serial) < std::pair(b.since_us, b.serial);
    }
  };
  absl::btree_set<Place> by_age_;
  absl::flat_hash_map<const Item*, Place> places_;
  uint64_t last_serial_ = 0;
  Place last_passed_;
  size_t passed_ = 0;
};

}  // namespace wq

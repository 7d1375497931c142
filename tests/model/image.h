// Image: the records of one queue in a store, as plain data that can be compared. The model makes
// the expected image, and ReadImage the real one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/records.h"
#include "storage/storage.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq::model {

struct Image {
  struct Pending {
    std::string key;
    Lane lane = 0;
    std::string group;
    // How many of the queue's pending keys have a lower sequence, over all lanes: they were added,
    // moved to another lane, or given back behind others earlier.
    uint64_t age = 0;
    std::vector<std::string> reasons = {};
    bool operator==(const Pending&) const = default;
  };
  struct Delayed {
    std::string key;
    Lane lane = 0;
    int64_t ready_at_us = 0;
    std::string group;
    std::vector<std::string> reasons = {};
    bool resync = false;
    bool operator==(const Delayed&) const = default;
  };
  struct Quarantined {
    Lane lane = 0;
    uint64_t failures = 0;
    std::string group;
    bool operator==(const Quarantined&) const = default;
  };

  std::vector<Pending> pending;  // In hand-out order: by lane, then by place.
  std::vector<Delayed> delayed;  // By ready time, then key.
  std::map<std::string, uint64_t> failing;
  std::map<std::string, Quarantined> quarantined;
  std::map<std::string, std::string> cursors;
  uint64_t fingerprint = 0;  // Of the source's last list, and its scope.
  uint64_t scope = 0;
  std::map<std::string, std::string> objects;  // Of the source: each with its row as text.
  bool paused = false;
  int64_t paused_until_us = 0;
  int64_t paused_at_us = 0;
  std::string limiter_state;

  // Replaces the values of `age`, which may be any ascending numbers, by the counts that
  // an image has.
  void CountAges();

  bool operator==(const Image&) const = default;
  // "| pending a@0/ b@-100/g | delayed ..."
  std::string ToString() const;
};

// Corruption: a record cannot be parsed.
Status ReadImage(const storage::Reader& reader, storage::QueueId queue, Image* image);
// Of the queue of this name; empty if there is none.
Status ReadImage(const storage::Reader& reader, const std::string& queue, Image* image);

}  // namespace wq::model

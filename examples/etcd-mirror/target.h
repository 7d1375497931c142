// Target: a directory with a file for each key.
//
//   Target target("/srv/mirror");
//   wq::Status s = target.Apply("/app/a", "value", revision);      // Or std::nullopt: no such key.
//
// Several processes write into the directory. One that has lost the ownership of the queue may
// still be reconciling, and would write what it read long ago over what the next owner wrote. So
// the target is what fences: each file has beside it the revision of etcd at which its contents
// were read, and an older reading is not applied. The check and the change are under one lock
// (flock(2)), so that no other process comes in between.
//
// Threading: thread-safe. A crash: leaves the former file or the new one, never a part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace etcd_mirror {

class Target {
 public:
  explicit Target(std::string dir) : dir_(std::move(dir)) {}

  // Makes the directory if it is missing.
  wq::Status Open();
  // Makes the key's file what was read at `revision`. Ok also if a later reading was applied.
  wq::Status Apply(const std::string& key, const std::optional<std::string>& value,
                   int64_t revision);
  // The keys that have a file.
  wq::Status Keys(std::vector<std::string>* keys) const;

 private:
  const std::string dir_;
};

}  // namespace etcd_mirror

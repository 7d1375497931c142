// KeyCopies: what the queue knows of some keys, copied under its lock, to be shown without it. The
// memory is used again.
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/order/item.h"
#include "wq/queue.h"

namespace wq {

class KeyCopies {
 public:
  explicit KeyCopies(bool sharded) : sharded_(sharded) {}

  void Clear();
  void Add(const Item& item);
  // Calls `visit` with each, until it returns false: false then.
  bool Visit(const KeyVisitor& visit);

 private:
  struct Copy {
    KeyInfo info;  // Its bytes are set by Visit.
    size_t key_bytes = 0;
    size_t group_bytes = 0;
    size_t error_bytes = 0;
  };
  const bool sharded_;
  std::vector<Copy> copies_;
  std::string bytes_;  // Key, group and error of each, in a row.
};

}  // namespace wq

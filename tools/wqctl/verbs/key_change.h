// KeyChangeArgs: one change, of some keys. What rm, cancel-delay, requeue, forget, quarantine release
// and quarantine drop are read into, and key_change.cc does.
#pragma once

#include <string>
#include <vector>

#include "tools/wqctl/cli/args.h"
#include "tools/wqctl/cli/filter.h"
#include "wq/queue_access.h"

namespace wqctl {

struct KeyChangeArgs : ChangeArgs {
  wq::KeyChange change = wq::KeyChange::kRemove;
  std::vector<std::string> keys;  // Each once. Empty: those that the filter lets through.
  Filter filter;
  bool hex = false;  // Keys are shown in hexadecimal.
  Format format = Format::kText;

  bool bulk() const { return keys.empty(); }
};

}  // namespace wqctl

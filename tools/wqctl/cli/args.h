// What the command line asks for: one struct a verb, filled in by parse_*.cc, executed by the
// verb's file. A verb that has a file of its own keeps its struct there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/wqctl/text/format.h"
#include "wq/options.h"

namespace wqctl {

struct InitArgs {
  std::string store_dir;
};

struct AddArgs {
  std::string store_dir;
  std::string queue;
  std::vector<std::string> keys;
  bool from_stdin = false;
  char delimiter = '\n';
  std::optional<wq::Lane> lane;
  std::optional<std::string> group;
  std::chrono::microseconds after{0};
  wq::Durability durability = wq::Durability::kProcess;
  Format format = Format::kText;
};

struct WorkArgs {
  std::string store_dir;
  std::string queue;
  std::vector<std::string> command;  // Not empty.
  int workers = 1;
  std::optional<uint64_t> max_requeues;
  std::chrono::microseconds base_delay = std::chrono::milliseconds{5};
  std::chrono::microseconds max_delay = std::chrono::seconds{1000};
  std::chrono::microseconds timeout{0};  // 0 is none.
  std::chrono::microseconds grace = std::chrono::seconds{30};
  bool follow = false;
  std::string http_address;    // Empty: none.
  mode_t command_umask = 022;  // The user's own, since wqctl's is stricter.
};

struct CursorLsArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Format format = Format::kTable;
};

struct CursorGetArgs {
  std::string store_dir;
  std::string queue;
  std::string name;
};

// What every verb that asks before has.
struct ChangeArgs {
  std::string store_dir;
  std::string queue;
  bool yes = false;      // Do not ask.
  bool dry_run = false;  // Only show what would be done.
};

struct PauseArgs : ChangeArgs {
  std::optional<std::chrono::microseconds> duration;  // Unset: until it is resumed.
};

struct ResumeArgs : ChangeArgs {};

}  // namespace wqctl

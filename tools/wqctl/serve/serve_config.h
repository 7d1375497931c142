// ServeConfig: what wqctl serve serves, and how it opens queues: from a file and the command line.
//
//   address = 0.0.0.0:7711        # The options of wqctl serve, without "--".
//   token-file = /etc/wq/token
//   [queue pods]                  # How this queue is opened; it is created if it is missing.
//   order = fair
//   max-requeues = 5
//   [queue *]                     # All queues without a section.
//   durability = power
//
// Lines are "name = value", empty, or comments that begin with "#", as in the file of the settings.
// Plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/replication/log_args.h"
#include "wq/options.h"
#include "wq/server.h"
#include "wq/status.h"

namespace wqctl {

// A section of the file, over ToolQueueOptions.
struct QueueConfig {
  std::map<std::string, std::string> lines;  // By name.
  wq::QueueOptions options = ToolQueueOptions();
  // What `options` gets from several lines, or from outside the section.
  std::optional<std::chrono::microseconds> base_delay;
  std::optional<std::chrono::microseconds> max_delay;
  std::optional<wq::Durability> durability;

  wq::QueueOptions Options() const;
  // The section without its limits: equal ones open a queue alike.
  QueueConfig WithoutLimits() const;
  bool operator==(const QueueConfig& other) const {
    return lines == other.lines && durability == other.durability;
  }
};

struct ServeConfig {
  wq::ServerOptions server;
  std::string file;  // Of --config; empty: none.
  bool log_changes = false;
  bool no_page = false;
  bool no_create_queues = false;
  std::chrono::microseconds grace = std::chrono::seconds{30};
  wq::StoreOptions store = ToolStoreOptions();
  LogArgs log;
  std::optional<wq::Durability> durability;   // Of queues whose section does not say it.
  std::map<std::string, QueueConfig> queues;  // By name; "*": all others.

  // The section of a queue, or that of "*", or the defaults; its durability is set.
  QueueConfig Of(std::string_view queue) const;
};

// Sets what the command line sets. Throws as VerbParser.
void ParseServeOptions(const Input& input, std::string* store_dir, ServeConfig* config);

// The options of the command line, and of the file that it names those that it does not set.
// NotFound, IOError: the file cannot be read. InvalidArgument: the message names the file and the
// line.
wq::Status ReadServeConfig(const Input& input, ServeConfig* config);

}  // namespace wqctl

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

#include "tools/wqctl/cli/history_args.h"
#include "tools/wqctl/cli/open_queue.h"
#include "tools/wqctl/replication/log_args.h"
#include "wq/options.h"
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
  std::string address;
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  std::optional<bool> tls_any_client;
  std::string token_file;
  std::string viewer_token_file;
  std::optional<bool> log_changes;
  std::optional<bool> read_only;
  std::string http;
  std::optional<bool> http_any_address;
  std::optional<bool> page;
  std::optional<bool> create;
  std::optional<bool> create_queues;
  std::optional<std::chrono::microseconds> grace;
  std::optional<uint32_t> max_workers;
  std::optional<uint32_t> max_grpc_connections;
  std::optional<uint32_t> max_http_connections;
  std::optional<uint32_t> max_newcomers;
  std::optional<std::chrono::microseconds> io_timeout;
  std::optional<std::chrono::microseconds> newcomer_timeout;
  HistoryArgs history;
  LogArgs log;
  std::optional<wq::Durability> durability;   // Of queues whose section does not say it.
  std::map<std::string, QueueConfig> queues;  // By name; "*": all others.

  // The section of a queue, or that of "*", or the defaults; its durability is set.
  QueueConfig Of(std::string_view queue) const;
};

// From 100 ms to an hour.
std::optional<std::chrono::microseconds> ParseIoTimeout(std::string_view text);

// Reads the file. What *config has set already, from the command line, stays. NotFound, IOError:
// the file cannot be read. InvalidArgument: the message names the file and the line.
wq::Status ReadServeConfig(const std::string& path, ServeConfig* config);

}  // namespace wqctl

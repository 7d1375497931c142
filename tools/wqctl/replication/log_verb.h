// What the verbs about a replicated log share.
//
//   LogVerbArgs args;
//   AddLogOptions(&parser, &args.log, false);
//   TakeUrl(parser.Parse(), 0, 0, "", &args);
//
// Plain functions.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/replication/log_args.h"
#include "wq/status.h"

namespace wqctl {

struct LogVerbArgs {
  LogArgs log;
  std::string dir;
  std::string name;
  std::chrono::microseconds timeout = std::chrono::seconds{60};
};

// Takes the URL from words[at], if there is one more word than the `fixed` ones: DIR before it, or
// NAME behind it. Throws UsageError: `wanted` if one of those is missing; no URL, or a wrong one.
void TakeUrl(const Words& words, size_t at, size_t fixed, const char* wanted, LogVerbArgs* args);

// --timeout; `what` it is that the verb waits for.
void AddTimeout(VerbParser* parser, const std::string& what, LogVerbArgs* args);

// Calls `poll` until *ready is true, or it fails with another error than IOError: the log may be
// out of reach for a moment. TimedOut: neither in time. Blocks: for that.
wq::Status PollUntil(std::chrono::microseconds timeout,
                     const std::function<wq::Status(bool* ready)>& poll);

// `text` for a message.
std::string Shown(const std::string& text);

}  // namespace wqctl

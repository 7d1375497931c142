// Show: the form of keys and times in tables: text or hexadecimal, relative or absolute.
//
// Immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/wqctl/cli/cli.h"
#include "wq/clock.h"

namespace wqctl {

struct Show {
  bool hex = false;
  bool absolute = false;
  int64_t now_us = wq::Clock::System()->WallUs();  // The reference of relative times.

  std::string Key(std::string_view key) const;
  std::string Age(int64_t then_us) const;    // "5m12s", or the time.
  std::string Ago(int64_t then_us) const;    // "5m12s ago", or the time.
  std::string Until(int64_t then_us) const;  // "in 59m", "due", or the time.
};

// The key alone and `end`, for -o name: unchanged for another program, escaped on a terminal.
std::string KeyLine(const Show& show, std::string_view key, char end);

void AddNow(VerbParser* parser, Show* show);          // --now.
void AddTimeOptions(VerbParser* parser, Show* show);  // --now and --times.

}  // namespace wqctl

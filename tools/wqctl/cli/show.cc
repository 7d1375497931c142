#include "tools/wqctl/cli/show.h"

#include <chrono>

#include "base/mutant.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/output.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

std::string AgeBetween(int64_t from_us, int64_t to_us) {
  int64_t us = 0;
  // A damaged record may hold times that overflow.
  if (__builtin_sub_overflow(to_us, from_us, &us)) return "?";
  return FormatAge(std::chrono::microseconds{us});
}

}  // namespace

std::string Show::Key(std::string_view key) const { return hex ? ToHex(key) : wq::EscapeKey(key); }

std::string Show::Age(int64_t then_us) const {
  return absolute ? FormatTime(then_us) : AgeBetween(then_us, now_us);
}

std::string Show::Ago(int64_t then_us) const {
  return absolute ? FormatTime(then_us) : AgeBetween(then_us, now_us) + " ago";
}

std::string Show::Until(int64_t then_us) const {
  if (absolute) return FormatTime(then_us);
  return then_us <= now_us ? "due" : "in " + AgeBetween(now_us, then_us);
}

std::string KeyLine(const Show& show, std::string_view key, char end) {
  std::string line = show.hex || OnTerminal() ? show.Key(key) : std::string(key);
  line.push_back(WQ_MUTANT(keys_end_with_a_line_end) ? '\n' : end);
  return line;
}

void AddNow(VerbParser* parser, Show* show) {
  AddParsed(parser, "--now", "TIME", "Show the store as of this time, in RFC 3339",
            "a time, such as 2026-01-31T12:00:00Z", ParseTime, &show->now_us);
}

void AddTimeOptions(VerbParser* parser, Show* show) {
  AddChoice<bool>(parser, "--times", "How tables show times", "",
                  {{"relative", false}, {"absolute", true}}, &show->absolute);
  AddNow(parser, show);
}

}  // namespace wqctl

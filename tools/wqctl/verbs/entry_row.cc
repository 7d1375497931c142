#include "tools/wqctl/verbs/entry_row.h"

#include <chrono>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/text/duration.h"
#include "wq/keys.h"

namespace wqctl {

std::vector<std::string> EntryHeader(bool wide) {
  std::vector<std::string> header = {"QUEUE", "KEY", "STATE",    "LANE",      "GROUP",
                                     "AGE",   "DUE", "FAILURES", "LAST ERROR"};
  if (wide) {
    header.insert(header.end() - 1,
                  {"FIRST FAILURE", "LAST FAILURE", "SHARD", "SEQUENCE", "DELAY"});
  }
  return header;
}

std::vector<std::string> EntryCells(const std::string& queue, const wq::Entry& entry,
                                    const Show& show, bool wide) {
  const bool delayed = entry.state == wq::EntryState::kDelayed;
  const bool failed = entry.failures && entry.failures->count > 0;
  std::vector<std::string> row = {
      wq::EscapeKey(queue),
      show.Key(entry.key),
      std::string(wq::EntryStateName(entry.state)),
      entry.state == wq::EntryState::kFailing ? "-" : wq::LaneName(entry.lane),
      entry.group.empty() ? "-" : wq::EscapeKey(entry.group),
      show.Age(AgeBeganUs(entry)),
      delayed ? show.Until(entry.ready_at_us) : "-",
      std::to_string(entry.failures ? entry.failures->count : 0)};
  if (wide) {
    row.push_back(failed ? show.Ago(entry.failures->first_at_us) : "-");
    row.push_back(failed ? show.Ago(entry.failures->last_at_us) : "-");
    row.push_back(entry.shard ? std::to_string(*entry.shard) : "-");
    row.push_back(entry.state == wq::EntryState::kPending ? std::to_string(entry.sequence) : "-");
    row.push_back(delayed ? FormatDuration(std::chrono::microseconds{entry.delay_us}) : "-");
  }
  row.push_back(entry.failures ? wq::EscapeKey(entry.failures->last_error) : "-");
  return row;
}

}  // namespace wqctl

#include "tools/wqctl/cli/filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/mutant.h"
#include "tools/wqctl/text/number.h"

namespace wqctl {

namespace {

using wq::EntryState;

std::optional<wq::EntryStates> ParseStates(std::string_view text) {
  wq::EntryStates states;
  while (true) {
    const size_t comma = text.find(',');
    const std::optional<EntryState> state = wq::ParseEntryState(text.substr(0, comma));
    if (!state) return std::nullopt;
    states.Add(*state);
    if (comma == std::string_view::npos) return states;
    text.remove_prefix(comma + 1);
  }
}

uint64_t FailureCount(const wq::Entry& entry) { return entry.failures ? entry.failures->count : 0; }

// As the page's filter: ASCII letters have no case.
bool ContainsInAnyCase(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [lower](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

int64_t DueUs(const wq::Entry& entry) {
  return entry.state == EntryState::kDelayed ? entry.ready_at_us
                                             : std::numeric_limits<int64_t>::max();
}

// The time `by_us` after `us`, or the first or last time: --now takes any.
int64_t Later(int64_t us, int64_t by_us) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(us, by_us, &sum)) return sum;
  return by_us < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

struct Selected {
  std::string queue;
  wq::Entry entry;
  uint64_t number = 0;  // The place in the scan, which orders equal entries.
};

// Whether `a` comes before `b`.
bool Before(SortBy by, const Selected& a, const Selected& b) {
  const auto either = [&](const auto& first, const auto& second) {
    return first != second ? first < second : a.number < b.number;
  };
  switch (by) {
    case SortBy::kKey:
      return either(a.entry.key, b.entry.key);
    case SortBy::kAge:
      return either(AgeBeganUs(a.entry), AgeBeganUs(b.entry));
    case SortBy::kDue:
      return either(DueUs(a.entry), DueUs(b.entry));
    case SortBy::kFailures:
      return either(~FailureCount(a.entry), ~FailureCount(b.entry));
  }
  return false;
}

using Scan = std::function<wq::Status(const QueueVisitor&)>;

// Holds at most filter.limit entries at a time.
wq::Status VisitSorted(const Scan& scan, const Filter& filter, int64_t now_us,
                       const QueueVisitor& visit) {
  const auto before = [by = *filter.sort_by](const Selected& a, const Selected& b) {
    return Before(by, a, b);
  };
  const uint64_t limit = filter.limit.value_or(std::numeric_limits<uint64_t>::max());
  uint64_t number = 0;
  std::vector<Selected> heap;  // The last entry in the order is on top.
  wq::Status s = scan([&](const std::string& queue, const wq::Entry& entry) {
    if (!filter.Matches(entry, now_us)) return true;
    heap.push_back({queue, entry, number++});
    std::push_heap(heap.begin(), heap.end(), before);
    if (heap.size() > limit) {
      std::pop_heap(heap.begin(), heap.end(), before);
      heap.pop_back();
    }
    return true;
  });
  if (!s.ok()) return s;
  std::sort_heap(heap.begin(), heap.end(), before);
  for (const Selected& selected : heap) {
    if (!visit(selected.queue, selected.entry)) break;
  }
  return s;
}

}  // namespace

int64_t AgeBeganUs(const wq::Entry& entry) {
  switch (entry.state) {
    case EntryState::kPending:
    case EntryState::kDelayed:
      return entry.added_at_us;
    case EntryState::kFailing:
      return entry.failures ? entry.failures->first_at_us : 0;
    case EntryState::kQuarantined:
      return entry.quarantined_at_us;
  }
  return 0;
}

wq::EntryStates Filter::EntryStatesToScan() const {
  wq::EntryStates scanned = states;
  if (states.Has(EntryState::kFailing)) {
    scanned.Add(EntryState::kPending);
    scanned.Add(EntryState::kDelayed);
  }
  return scanned;
}

bool Filter::SelectsAll() const {
  return states == wq::EntryStates::All() && !lane && !group && prefix.empty() &&
         match == nullptr && !older_than && !failures_over && error.empty() && !due_within &&
         !limit && !sort_by;
}

bool Filter::Matches(const wq::Entry& entry, int64_t now_us) const {
  const bool failing = entry.state != EntryState::kQuarantined && FailureCount(entry) > 0;
  if (!states.Has(entry.state) && !(failing && states.Has(EntryState::kFailing))) return false;
  if (!entry.key.starts_with(prefix)) return false;
  const bool placed = entry.state != EntryState::kFailing;
  if (lane && (!placed || entry.lane != *lane)) return false;
  if (group && (!placed || entry.group != *group)) return false;
  if (failures_over &&
      FailureCount(entry) + (WQ_MUTANT(failures_over_is_at_least) ? 1 : 0) <= *failures_over) {
    return false;
  }
  if (!error.empty() &&
      (!entry.failures || !ContainsInAnyCase(entry.failures->last_error, error))) {
    return false;
  }
  if (older_than && AgeBeganUs(entry) >= Later(now_us, -older_than->count())) return false;
  if (due_within && (entry.state != EntryState::kDelayed ||
                     entry.ready_at_us > Later(now_us, due_within->count()))) {
    return false;
  }
  return match == nullptr ||
         re2::RE2::PartialMatch(re2::StringPiece(entry.key.data(), entry.key.size()), *match);
}

namespace {

void AddKeyOptions(VerbParser* parser, Filter* filter, bool* hex) {
  parser->Text("--prefix", "BYTES", "Only keys that begin with BYTES", &filter->prefix);
  parser->Option("--match", "REGEX", "Only keys in which this regular expression (RE2) is found",
                 "a regular expression of RE2", [filter](const std::string& text) {
                   // Keys are bytes, so a pattern matches bytes: "." is any single byte.
                   re2::RE2::Options options(re2::RE2::Latin1);
                   options.set_log_errors(false);
                   options.set_dot_nl(true);
                   filter->match = std::make_shared<const re2::RE2>(text, options);
                   return filter->match->ok();
                 });
  parser->Flag("--hex", "Keys, and --prefix, in hexadecimal", hex);
  parser->AtEnd([filter, hex] {
    if (*hex) filter->prefix = KeyOfHex(filter->prefix);
  });
}

void AddFailureOptions(VerbParser* parser, Filter* filter) {
  AddParsed(parser, "--failures-over", "N", "Only keys with more than N failures", "a number",
            ParseNumber<uint64_t>, &filter->failures_over);
  parser->Text("--error", "TEXT", "Only keys whose last error has TEXT in it, in any case",
               &filter->error);
}

}  // namespace

void AddFilterOptions(VerbParser* parser, Filter* filter, bool* hex) {
  AddParsed(
      parser, "--state", "STATE[,...]", "Only these states: pending, delayed, failing, quarantined",
      "a list of states: pending, delayed, failing, quarantined", ParseStates, &filter->states);
  AddLane(parser, "Only this lane", &filter->lane);
  parser->Text("--group", "GROUP", "Only this group; \"\" is none", &filter->group);
  AddKeyOptions(parser, filter, hex);
  AddDuration(parser, "--older-than", "Only entries that have been in their state for longer",
              &filter->older_than);
  AddFailureOptions(parser, filter);
  AddDuration(parser, "--due-within", "Only delayed keys that are due within this time",
              &filter->due_within);
  AddParsed(parser, "--limit", "N", "At most N entries", "a number", ParseNumber<uint64_t>,
            &filter->limit);
  AddChoice<SortBy>(parser, "--sort-by",
                    "By key, oldest first, soonest first, or most failures first; needs memory",
                    "an order: ",
                    {{"key", SortBy::kKey},
                     {"age", SortBy::kAge},
                     {"due", SortBy::kDue},
                     {"failures", SortBy::kFailures}},
                    &filter->sort_by);
}

void AddFailureFilterOptions(VerbParser* parser, Filter* filter, bool* hex) {
  filter->states = wq::EntryStates(EntryState::kFailing);
  filter->states.Add(EntryState::kQuarantined);
  AddChoice<wq::EntryStates>(parser, "--state", "Only keys in this state", "a state: ",
                             {{"failing", wq::EntryStates(EntryState::kFailing)},
                              {"quarantined", wq::EntryStates(EntryState::kQuarantined)}},
                             &filter->states);
  AddKeyOptions(parser, filter, hex);
  AddFailureOptions(parser, filter);
}

wq::Status VisitMatching(const wq::StoreView& view, const std::vector<std::string>& queues,
                         const Filter& filter, int64_t now_us, const QueueVisitor& visit) {
  const Scan scan = [&](const QueueVisitor& each) {
    for (const std::string& queue : queues) {
      bool open = true;
      wq::Status s =
          view.ForEachEntry(queue, filter.EntryStatesToScan(),
                            [&](const wq::Entry& entry) { return open = each(queue, entry); });
      if (!s.ok() || !open) return s;
    }
    return wq::Status::Ok();
  };
  if (filter.limit == 0U) return wq::Status::Ok();
  if (filter.sort_by) return VisitSorted(scan, filter, now_us, visit);
  uint64_t left = filter.limit.value_or(std::numeric_limits<uint64_t>::max());
  return scan([&](const std::string& queue, const wq::Entry& entry) {
    if (!filter.Matches(entry, now_us)) return true;
    return visit(queue, entry) && --left > 0;
  });
}

}  // namespace wqctl

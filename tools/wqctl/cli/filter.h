// Filter: which entries a verb is about, and how many of them in which order.
//
//   Filter filter;
//   AddFilterOptions(&parser, &filter);
//   …
//   wq::Status s = VisitMatching(*view, queues, filter, now_us, [](queue, entry) { …; return true; });
//
// One type for every listing and every bulk change, so that what was listed is what is changed.
// Thread-compatible; copies share the compiled pattern.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/wqctl/cli/cli.h"
#include "wq/store_view.h"

namespace wqctl {

// A compiled regular expression (RE2).
class KeyPattern;

enum class SortBy : uint8_t {
  kKey = 0,       // By bytes.
  kAge = 1,       // Oldest first; see AgeBeganUs.
  kDue = 2,       // Soonest first; what is not delayed comes last.
  kFailures = 3,  // Most first.
};

struct Filter {
  wq::EntryStates states = wq::EntryStates::All();
  std::optional<wq::Lane> lane;
  std::optional<std::string> group;
  std::string prefix;
  std::shared_ptr<const KeyPattern> match;  // Anywhere in the key; null: none.
  std::optional<std::chrono::microseconds> older_than;
  std::optional<uint64_t> failures_over;
  std::optional<std::chrono::microseconds> due_within;  // Delayed entries only.
  std::optional<uint64_t> limit;
  std::optional<SortBy> sort_by;  // Unset: the order of the walk, and no memory for it.

  // Whether any entry may be left out: a limit is one reason too.
  bool SelectsAll() const;
  // All but the limit. `now_us` is what ages are counted to.
  bool Matches(const wq::Entry& entry, int64_t now_us) const;
};

// --state, --lane, --group, --prefix, --match, --older-than, --failures-over, --due-within, --limit,
// --sort-by and --hex. After Parse, FinishFilter reads --prefix as hexadecimal if --hex was given.
struct FilterWords {
  std::string prefix;
  bool hex = false;  // Keys are given, and shown, in hexadecimal.
};
void AddFilterOptions(VerbParser* parser, Filter* filter, FilterWords* words);
void FinishFilter(const FilterWords& words, Filter* filter);

// Visits what matches, over the queues in turn, until `visit` returns false or the limit is reached.
// Memory: a constant; with sort_by, that of the entries that are visited.
using QueueVisitor = std::function<bool(const std::string& queue, const wq::Entry& entry)>;
wq::Status VisitMatching(const wq::StoreView& view, const std::vector<std::string>& queues,
                         const Filter& filter, int64_t now_us, const QueueVisitor& visit);

// When the entry came to be in its state: added, quarantined, or failed first.
int64_t AgeBeganUs(const wq::Entry& entry);

}  // namespace wqctl

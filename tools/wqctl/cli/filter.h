// Filter: selects entries for a verb, and limits and orders them.
//
//   Filter filter;
//   AddFilterOptions(&parser, &filter, &show.hex);
//   …
//   wq::Status s = VisitMatching(*view, queues, filter, now_us,
//                                [](queue, entry) { …; return true; });
//
// Every listing and every bulk change uses this type, so that a change affects the entries that a
// listing shows.
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

namespace re2 {
class RE2;
}

namespace wqctl {

enum class SortBy : uint8_t {
  kKey = 0,       // By bytes.
  kAge = 1,       // Oldest first; see AgeBeganUs.
  kDue = 2,       // Soonest first; entries that are not delayed last.
  kFailures = 3,  // Most first.
};

struct Filter {
  // A key with failures outside quarantine is failing, so "failing" selects its pending and delayed
  // entries as well.
  wq::EntryStates states = wq::EntryStates::All();
  std::optional<wq::Lane> lane;
  std::optional<std::string> group;
  std::string prefix;
  std::shared_ptr<const re2::RE2> match;  // Is found anywhere in the key; null: any key.
  std::optional<std::chrono::microseconds> older_than;
  std::optional<uint64_t> failures_over;
  std::string error;                                    // In the last error; empty: any, or none.
  std::optional<std::chrono::microseconds> due_within;  // Delayed entries only.
  std::optional<uint64_t> limit;
  std::optional<SortBy> sort_by;  // Unset: the order of the scan, in constant memory.

  // The states of which entries may match.
  wq::EntryStates EntryStatesToScan() const;
  // False if any entry may be left out, by a limit too.
  bool SelectsAll() const;
  // Ignores the limit. Ages are counted until `now_us`.
  bool Matches(const wq::Entry& entry, int64_t now_us) const;
};

// Adds --state, --lane, --group, --prefix, --match, --older-than, --failures-over, --error,
// --due-within, --limit, --sort-by and --hex. With --hex, keys and --prefix are in hexadecimal.
void AddFilterOptions(VerbParser* parser, Filter* filter, bool* hex);

// Adds those of them that apply to keys with failures: --state (failing and quarantined), --prefix,
// --match, --failures-over, --error and --hex.
void AddFailureFilterOptions(VerbParser* parser, Filter* filter, bool* hex);

// Visits the matching entries, queue by queue, until `visit` returns false or the limit is reached.
// Memory: a constant; with sort_by, that of the visited entries.
using QueueVisitor = std::function<bool(const std::string& queue, const wq::Entry& entry)>;
wq::Status VisitMatching(const wq::StoreView& view, const std::vector<std::string>& queues,
                         const Filter& filter, int64_t now_us, const QueueVisitor& visit);

// When the entry got into its state: was added, quarantined, or failed first.
int64_t AgeBeganUs(const wq::Entry& entry);

}  // namespace wqctl

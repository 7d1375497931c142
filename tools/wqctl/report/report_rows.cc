#include "tools/wqctl/report/report_rows.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/wqctl/cli/filter.h"

namespace wqctl {
namespace {

using wq::EntryState;
using Entries = std::vector<wq::Entry>;

uint64_t EntryCount(const wq::QueueSummary& queue) {
  return queue.pending + queue.delayed + queue.failing + queue.quarantined;
}

// The entries of these keys, in their order, in all states.
template <typename Key>
wq::Status EntriesOf(const wq::StoreView& view, const std::string& queue,
                     const std::vector<Key>& top, size_t limit, Entries* entries) {
  std::vector<std::string> keys;
  for (const Key& key : top) {
    if (keys.size() == limit) break;
    keys.push_back(key.key);
  }
  return view.FindAll(queue, keys, entries);
}

wq::Status FirstOf(const wq::StoreView& view, const std::string& queue, EntryState state,
                   std::optional<SortBy> sort_by, size_t limit, int64_t now_us, Entries* entries) {
  Filter filter;
  filter.states = wq::EntryStates(state);
  filter.limit = limit;
  filter.sort_by = sort_by;
  return VisitMatching(view, {queue}, filter, now_us,
                       [entries](const std::string&, const wq::Entry& entry) {
                         entries->push_back(entry);
                         return true;
                       });
}

// The names of the reasons, in the order of the rows.
constexpr std::array<std::string_view, 5> kWhy = {"fails most", "quarantined", "oldest", "due next",
                                                  "next"};
using Reasons = std::array<Entries, kWhy.size()>;  // For each reason, in its order.

struct Picked {
  wq::Entry entry;
  size_t reason = kWhy.size();  // The first reason that applies,
  size_t place = 0;             // and the place among that reason's entries.
  std::string why = {};         // All reasons.
};

// Takes an entry of each reason in turn, up to `limit`. An entry may have several reasons.
std::vector<Picked> PickInTurn(const Reasons& reasons, size_t limit) {
  std::vector<Picked> picked;
  std::map<std::pair<std::string, EntryState>, size_t> places;  // In `picked`.
  size_t longest = 0;
  for (const Entries& entries : reasons) longest = std::max(longest, entries.size());
  for (size_t i = 0; i < longest && picked.size() < limit; ++i) {
    for (size_t reason = 0; reason < reasons.size() && picked.size() < limit; ++reason) {
      if (i >= reasons[reason].size()) continue;
      const wq::Entry& entry = reasons[reason][i];
      const bool is_new = places.emplace(std::pair(entry.key, entry.state), picked.size()).second;
      if (is_new) picked.push_back({.entry = entry});
    }
  }
  for (size_t reason = 0; reason < reasons.size(); ++reason) {
    for (size_t i = 0; i < reasons[reason].size(); ++i) {
      const wq::Entry& entry = reasons[reason][i];
      const auto place = places.find({entry.key, entry.state});
      if (place == places.end()) continue;
      Picked& known = picked[place->second];
      known.why.append(known.why.empty() ? "" : ", ").append(kWhy[reason]);
      if (known.reason < kWhy.size()) continue;
      known.reason = reason;
      known.place = i;
    }
  }
  std::sort(picked.begin(), picked.end(), [](const Picked& a, const Picked& b) {
    return a.reason != b.reason ? a.reason < b.reason : a.place < b.place;
  });
  return picked;
}

wq::Status PickOfQueue(const wq::StoreView& view, const wq::QueueSummary& summary, size_t limit,
                       int64_t now_us, std::vector<ReportRow>* rows) {
  Reasons reasons;
  auto& [failing, quarantined, oldest, due, next] = reasons;
  const std::string& queue = summary.name;
  wq::Status s = EntriesOf(view, queue, summary.top_failing, limit, &failing);
  const auto first = [&](EntryState state, std::optional<SortBy> sort_by, Entries* entries) {
    if (s.ok()) s = FirstOf(view, queue, state, sort_by, limit, now_us, entries);
  };
  first(EntryState::kQuarantined, SortBy::kFailures, &quarantined);
  if (s.ok()) s = EntriesOf(view, queue, summary.top_oldest, limit, &oldest);
  first(EntryState::kDelayed, std::nullopt, &due);
  first(EntryState::kPending, std::nullopt, &next);
  if (!s.ok()) return s;
  for (Picked& picked : PickInTurn(reasons, limit)) {
    rows->push_back({queue, std::move(picked.entry), std::move(picked.why)});
  }
  return s;
}

}  // namespace

size_t RowsWanted(size_t limit, size_t queues) {
  return std::min(limit, std::max<size_t>(10, 2 * limit / std::max<size_t>(1, queues)));
}

wq::Status PickRows(const wq::StoreView& view, const std::vector<wq::QueueSummary>& summaries,
                    size_t limit, int64_t now_us, std::vector<ReportRow>* rows) {
  // Small queues first, so that each leaves the rest of its share to the larger ones.
  std::vector<size_t> order(summaries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&summaries](size_t a, size_t b) {
    return EntryCount(summaries[a]) < EntryCount(summaries[b]);
  });
  std::vector<std::vector<ReportRow>> of_queue(summaries.size());
  size_t left = limit;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t share = left / (order.size() - i);
    std::vector<ReportRow>* picked = &of_queue[order[i]];
    if (share == 0) continue;
    wq::Status s = PickOfQueue(view, summaries[order[i]], share, now_us, picked);
    if (!s.ok()) return s;
    left -= picked->size();
  }
  for (std::vector<ReportRow>& picked : of_queue) {
    std::move(picked.begin(), picked.end(), std::back_inserter(*rows));
  }
  return wq::Status::Ok();
}

}  // namespace wqctl

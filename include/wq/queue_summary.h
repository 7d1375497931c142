// QueueSummary: the counts, histograms and extremes of a queue, as StoreView::Summarize returns
// them, in bounded memory whatever the queue holds.
//
//   wq::QueueSummary pods;
//   wq::Status s = view->Summarize("pods", {.top_failing = 3}, &pods);
//   for (const wq::FailingKey& k : pods.top_failing) std::cout << k.failures.last_error << "\n";
//
// Times are microseconds since 1970-01-01T00:00:00Z.
// Threading: thread-compatible; plain values. Lifetime: the caller's. A crash: does not concern
// them; they are copies.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wq/entry.h"
#include "wq/options.h"

namespace wq {

struct FailingKey {
  std::string key;
  FailureInfo failures;
};

struct GroupDepth {
  std::string group;
  uint64_t pending = 0;
};

// Bounds of the memory of a QueueSummary.
inline constexpr size_t kMaxSummaryGroups = 10'000;
inline constexpr size_t kMaxSummaryCursors = 1'000;

// The pending keys by group. With up to kMaxSummaryGroups groups, max_error is 0 and the values are
// exact. With more, `count` is kMaxSummaryGroups + 1, a depth in `top` may be too low by at most
// max_error, and a group of at most that depth may be missing.
struct GroupDepths {
  uint64_t count = 0;
  uint64_t max_error = 0;
  std::vector<GroupDepth> top;  // By depth, highest first; then by name.
};

// Histograms: counts[i] counts the values up to bound i that are above the bound before; the last
// count is of the values above all bounds.
inline constexpr std::array<int64_t, 8> kAgeBoundsUs = {
    1'000'000,     10'000'000,     60'000'000,     600'000'000,
    3'600'000'000, 21'600'000'000, 86'400'000'000, 604'800'000'000};
inline constexpr std::array<int64_t, 8> kDueBoundsUs = {
    0,           1'000'000,     10'000'000,     60'000'000,
    600'000'000, 3'600'000'000, 21'600'000'000, 86'400'000'000};
inline constexpr std::array<int64_t, 8> kDelayBoundsUs = {
    10'000, 100'000, 1'000'000, 10'000'000, 60'000'000, 600'000'000, 3'600'000'000, 21'600'000'000};
inline constexpr std::array<uint64_t, 5> kFailureBounds = {1, 2, 5, 10, 100};

template <typename T, size_t N>
struct Histogram {
  std::array<uint64_t, N + 1> counts = {};
  void Add(const std::array<T, N>& bounds, T value) {
    size_t i = 0;
    while (i < N && value > bounds[i]) ++i;
    ++counts[i];
  }
};

struct QueueSummary {
  std::string name;
  uint64_t pending = 0;
  // Pending keys by lane, highest first: of the kMaxCountedLanes lanes with the most keys, among
  // the first 10 000 that are read. other_lanes counts the pending keys of the other lanes.
  std::map<Lane, uint64_t, std::greater<>> lanes;
  uint64_t other_lanes = 0;
  uint64_t delayed = 0;
  uint64_t failing = 0;  // Except quarantined keys.
  uint64_t quarantined = 0;
  // Whether the queue hands out nothing. If no owner lives, a pause is over at paused_until_us. An
  // owner decides that when it opens the queue, and then by a clock that nobody can set, so beside
  // one this is what the store says, even if paused_until_us has passed.
  bool paused = false;
  std::optional<int64_t> paused_until_us;            // Unset: until Resume.
  std::optional<int64_t> oldest_added_at_us;         // Of the pending keys.
  std::optional<int64_t> next_ready_at_us;           // Of the delayed keys.
  Histogram<int64_t, kAgeBoundsUs.size()> ages;      // Of the pending keys, since they were added.
  Histogram<int64_t, kDueBoundsUs.size()> due;       // Of the delayed keys, until they are ready.
  Histogram<int64_t, kDelayBoundsUs.size()> delays;  // Of the delayed keys: requested delays.
  Histogram<uint64_t, kFailureBounds.size()> failure_counts;  // Of the failing keys.
  std::vector<FailingKey> top_failing;  // By count, highest first; then by key.

  uint32_t shards = 0;     // As in the last opening with shards.
  GroupDepths groups;      // Keys without a group are omitted.
  GroupDepths namespaces;  // By the key's bytes before its first "/"; other keys are omitted.

  std::map<std::string, uint64_t> cursors;  // Their sizes in bytes; the first kMaxSummaryCursors.
  uint64_t other_cursors = 0;               // How many further cursors exist.
  std::map<std::string, uint64_t> sources;  // How many objects each has.
};

struct SummaryOptions {
  size_t top_failing = 10;             // Length of top_failing. Default: 10.
  size_t top_groups = 10;              // Length of groups.top and namespaces.top. Default: 10.
  std::optional<int64_t> now_us = {};  // Of ages and pauses. Default: the wall clock's.
};

}  // namespace wq

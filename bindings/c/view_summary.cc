// The C interface: the summaries of views.

#include <algorithm>
#include <array>
#include <iterator>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/entry.h"
#include "bindings/c/view_call.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::CallbackScope;
using wq::c::NullArgument;

wq::SummaryOptions ToOptions(const wq_summary_visitor& visitor) {
  const auto top = [](size_t asked) { return asked == 0 ? size_t{10} : asked; };
  wq::SummaryOptions options;
  options.top_failing = top(visitor.top_failing);
  options.top_groups = top(visitor.top_groups);
  options.top_oldest = visitor.oldest == nullptr ? 0 : top(visitor.top_oldest);
  if (visitor.now_us != 0) {
    options.now_us = visitor.now_us;
  }
  return options;
}

template <size_t N>
void CopyCounts(const std::array<uint64_t, N>& counts, uint64_t (&out)[N]) {
  std::copy(counts.begin(), counts.end(), std::begin(out));
}

wq_queue_summary SummaryOf(const wq::QueueSummary& summary) {
  wq_queue_summary out{.size = 0,
                       .pending = summary.pending,
                       .other_lanes = summary.other_lanes,
                       .delayed = summary.delayed,
                       .failing = summary.failing,
                       .quarantined = summary.quarantined,
                       .paused = summary.paused ? 1 : 0,
                       .paused_until_us = summary.paused_until_us.value_or(-1),
                       .oldest_added_at_us = summary.oldest_added_at_us.value_or(-1),
                       .next_ready_at_us = summary.next_ready_at_us.value_or(-1),
                       .shards = summary.shards,
                       .groups = summary.groups.count,
                       .group_error = summary.groups.max_error,
                       .other_cursors = summary.other_cursors,
                       .ages = {},
                       .due = {},
                       .delays = {},
                       .failure_counts = {}};
  CopyCounts(summary.ages.counts, out.ages);
  CopyCounts(summary.due.counts, out.due);
  CopyCounts(summary.delays.counts, out.delays);
  CopyCounts(summary.failure_counts.counts, out.failure_counts);
  return out;
}

void ShowLists(const wq::QueueSummary& summary, const wq_summary_visitor& visitor) {
  const CallbackScope scope;
  if (visitor.lane != nullptr) {
    for (const auto& [lane, pending] : summary.lanes) {
      visitor.lane(visitor.arg, lane, pending);
    }
  }
  if (visitor.failing != nullptr) {
    for (const wq::FailingKey& key : summary.top_failing) {
      const wq_failures failures = wq::c::ToC(key.failures);
      visitor.failing(visitor.arg, key.key.data(), key.key.size(), &failures);
    }
  }
  if (visitor.group != nullptr) {
    for (const wq::GroupDepth& group : summary.groups.top) {
      visitor.group(visitor.arg, group.group.data(), group.group.size(), group.pending);
    }
  }
  if (visitor.name_space != nullptr) {
    for (const wq::GroupDepth& group : summary.namespaces.top) {
      visitor.name_space(visitor.arg, group.group.data(), group.group.size(), group.pending);
    }
  }
  if (visitor.oldest != nullptr) {
    for (const wq::PendingKey& key : summary.top_oldest) {
      visitor.oldest(visitor.arg, key.key.data(), key.key.size(), key.added_at_us);
    }
  }
  if (visitor.cursor != nullptr) {
    for (const auto& [name, size] : summary.cursors) {
      visitor.cursor(visitor.arg, name.c_str(), size);
    }
  }
}

}  // namespace

extern "C" {

wq_code wq_view_summarize(wq_view view, const char* queue, wq_queue_summary* summary,
                          const wq_summary_visitor* visitor, wq_error* error) {
  return wq::c::ViewCall(view, error, [&](const wq::StoreView& v) -> Status {
    if (queue == nullptr) {
      return NullArgument("queue");
    }
    if (Status s = wq::c::CheckSized("summary", summary); !s.ok()) {
      return s;
    }
    wq_summary_visitor lists;
    if (Status s = wq::c::ReadSized("visitor", visitor, &lists); !s.ok()) {
      return s;
    }
    wq::QueueSummary found;
    if (Status s = v.Summarize(queue, ToOptions(lists), &found); !s.ok()) {
      return s;
    }
    wq::c::WriteSized(SummaryOf(found), summary);
    ShowLists(found, lists);
    return {};
  });
}

}  // extern "C"

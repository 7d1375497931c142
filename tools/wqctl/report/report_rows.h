// Which keys of a store a report shows: not all of them, but those that somebody looks for.
//
//   std::vector<ReportRow> rows;
//   wq::Status s = PickRows(*view, summaries, 500, now_us, &rows);
//
// Of each queue those that failed most, were given up, wait for longest, are due next, and are
// handed out next, in turn, each entry once. Memory and time do not grow with the keys beyond what
// Summarize takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wq/store_view.h"

namespace wqctl {

struct ReportRow {
  std::string queue;
  wq::Entry entry;
  std::string why;  // "fails most, oldest".
};

// At most `limit` rows over all queues; small queues leave what they do not need to the others. In
// the order of the summaries, which are of SummaryOptions with top_failing and top_oldest as
// RowsWanted says.
wq::Status PickRows(const wq::StoreView& view, const std::vector<wq::QueueSummary>& summaries,
                    size_t limit, int64_t now_us, std::vector<ReportRow>* rows);

// How many keys of a kind a summary should have.
size_t RowsWanted(size_t limit, size_t queues);

}  // namespace wqctl

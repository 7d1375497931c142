// Selects the keys that a report shows: a few of each kind that matters.
//
//   std::vector<ReportRow> rows;
//   wq::Status s = PickRows(*view, summaries, 500, now_us, &rows);
//
// From each queue, in turn: the keys that failed most, are in quarantine, are pending for longest,
// are due next, and are handed out next; each entry once. Memory and time do not grow with the
// number of keys beyond what Summarize takes.
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

// At most `limit` rows for all queues; the part that small queues do not need goes to the others.
// In the order of `summaries`, which were made with RowsWanted as top_failing and as top_oldest.
wq::Status PickRows(const wq::StoreView& view, const std::vector<wq::QueueSummary>& summaries,
                    size_t limit, int64_t now_us, std::vector<ReportRow>* rows);

// How many keys of each kind a summary should have.
size_t RowsWanted(size_t limit, size_t queues);

}  // namespace wqctl

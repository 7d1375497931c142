// The page that wqctl report writes: one HTML document that fetches nothing.
//
//   report.title = "pods, 3 am"; …
//   wq::Status s = file.Write(RenderReport(report));
//
// A pure function. The size of the page is bounded: keys, errors, groups and the number of queues
// with a section of their own are cut, and the page says where.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/errors/error_groups.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/report/report_rows.h"
#include "wq/store_view.h"

namespace wqctl {

struct Report {
  std::string title;
  wq::StoreInfo store;
  std::vector<wq::QueueSummary> queues;
  std::vector<std::vector<wq::ErrorGroup>> errors;  // Of each queue.
  std::vector<ReportRow> rows;
  Show show;
};

std::string RenderReport(const Report& report);

// Parts of the page. report_queue.cc:
std::string RenderQueues(const Report& report);  // A row for each.
std::string RenderQueue(const wq::QueueSummary& queue, const std::vector<wq::ErrorGroup>& errors,
                        const Show& show);
// report_table.cc: the searchable table of keys.
std::string RenderKeys(const Report& report);
// report_style.cc: the constant parts of every page.
std::string_view ReportStyle();
std::string_view ReportScript();
// The Content-Security-Policy, which allows that style and that script only.
std::string ReportPolicy();

}  // namespace wqctl

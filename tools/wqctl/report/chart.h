// Charts as SVG inside an HTML page. They have CSS classes; the page defines the colours.
//
//   *page += ColumnChart("Pending for", AgeBars(queue), "pending");
//
// Every bar shows its number, and has its label as a tooltip and for screen readers. Labels are
// plain text, which these functions escape.
#pragma once

#include <string>

#include "tools/wqctl/report/bars.h"

namespace wqctl {

// A histogram: a column for each bar, in their order. `shade` is the CSS class of the columns.
std::string ColumnChart(const std::string& title, const Bars& bars, const std::string& shade);

// A ranking: a line for each bar, its label above it.
std::string BarChart(const std::string& title, const Bars& bars, const std::string& shade);

}  // namespace wqctl

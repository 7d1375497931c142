// Charts as SVG inside an HTML page. They have classes and no colours: those are the page's.
//
//   *page += ColumnChart("Pending for", AgeBars(queue), "pending");
//
// Every bar has its number beside it, and its words when the mouse rests on it or a reader reads it
// aloud. Labels are text, made safe here.
#pragma once

#include <string>

#include "tools/wqctl/report/bars.h"

namespace wqctl {

// A histogram: a column for each bar, in the order that they have. `shade` is the CSS class of the
// columns.
std::string ColumnChart(const std::string& title, const Bars& bars, const std::string& shade);

// A ranking: a line for each bar, its label above it.
std::string BarChart(const std::string& title, const Bars& bars, const std::string& shade);

}  // namespace wqctl

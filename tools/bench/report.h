// The output of wqbench: JSON, and a table that is made from that JSON.
//
// A scenario runs in a process of its own, which prints its outcome as JSON. So the report is made
// from JSON for either output.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tools/bench/bench.h"

namespace wq::bench {

nlohmann::json ToJson(const std::string& scenario, const Bench& bench);

// The report: the machine, the settings, the scenarios' outcomes.
nlohmann::json Report(const Settings& settings, const std::vector<nlohmann::json>& outcomes);

void PrintTable(const nlohmann::json& report, std::ostream& out);
// How many rows with a bound are within their bound.
struct Verdict {
  size_t met = 0;
  size_t not_met = 0;
};
Verdict VerdictOf(const nlohmann::json& report);

}  // namespace wq::bench

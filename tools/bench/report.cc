#include "tools/bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <nlohmann/json.hpp>

#include "tools/bench/machine.h"
#include "tools/bench/subjects.h"

namespace wq::bench {
namespace {

using nlohmann::json;

json SpreadToJson(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

json RowToJson(const Bench& bench, const Row& row) {
  const Figure& figure = bench.Find(row.figure);
  json out = {{"what", row.what},
              {"figure", SpreadToJson(SpreadOf(figure.values)).at("median")},
              {"unit", figure.unit},
              {"figure_name", row.figure}};
  double judged = out["figure"];
  if (!row.against.empty()) {
    const Spread ratio = SpreadOf(bench.Ratios(row));
    out["compared_with"] = row.compared_with.empty() ? row.against : row.compared_with;
    out["ratio"] = SpreadToJson(ratio);
    judged = ratio.median;
  }
  if (row.bound) {
    out["wanted"] = {{row.at_most ? "at_most" : "at_least", *row.bound}};
    out["met"] = row.at_most ? judged <= *row.bound : judged >= *row.bound;
  }
  return out;
}

// Three significant digits, with spaces between thousands: "1 230 000", "12.3", "0.85".
std::string Number(double value) {
  if (value == 0) {
    return "0";
  }
  const int digits = static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
  if (digits <= 3) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f", std::clamp(3 - digits, 0, 3), value);
    return text.data();
  }
  const double unit = std::pow(10.0, digits - 3);
  std::string text = std::to_string(static_cast<long long>(std::round(value / unit) * unit));
  for (size_t at = text.size() - 3; at > 0 && at < text.size(); at -= std::min<size_t>(at, 3)) {
    text.insert(at, 1, ' ');
  }
  return text;
}

std::string Ratio(const json& row) {
  if (!row.contains("ratio")) {
    return "";
  }
  std::array<char, 64> text{};
  const json& ratio = row["ratio"];
  std::snprintf(text.data(), text.size(), "%.2f (%.2f..%.2f)", ratio["median"].get<double>(),
                ratio["min"].get<double>(), ratio["max"].get<double>());
  return text.data();
}

std::string Wanted(const json& row) {
  if (!row.contains("wanted")) {
    return "";
  }
  const bool at_most = row["wanted"].contains("at_most");
  const double bound = row["wanted"][at_most ? "at_most" : "at_least"];
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s %g%s%s", at_most ? "<=" : ">=", bound,
                row.contains("ratio") ? "" : " ",
                row.contains("ratio") ? "" : row["unit"].get<std::string>().c_str());
  return text.data();
}

std::string Met(const json& row) {
  return row.contains("met") ? (row["met"].get<bool>() ? "met" : "NOT MET") : "";
}

using Line = std::array<std::string, 6>;

void PrintLines(const std::vector<Line>& lines, std::ostream& out) {
  std::array<size_t, std::tuple_size_v<Line>> widths{};
  for (const Line& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  for (const Line& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      text += i == 1 ? space + line[i] : line[i] + space;  // Figures are aligned to the right.
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  }
}

template <typename Visit>
void ForEachRow(const json& report, Visit&& visit) {
  for (const json& scenario : report["scenarios"]) {
    for (const json& row : scenario["rows"]) {
      visit(row);
    }
  }
}

}  // namespace

json ToJson(const std::string& scenario, const Bench& bench) {
  json out = {{"scenario", scenario},
              {"figures", json::array()},
              {"rows", json::array()},
              {"notes", bench.notes()}};
  for (const Figure& figure : bench.figures()) {
    json entry = SpreadToJson(SpreadOf(figure.values));
    entry["name"] = figure.name;
    entry["unit"] = figure.unit;
    entry["values"] = figure.values;
    out["figures"].push_back(std::move(entry));
  }
  for (const Row& row : bench.rows()) {
    out["rows"].push_back(RowToJson(bench, row));
  }
  return out;
}

json Report(const Settings& settings, const std::vector<json>& outcomes) {
  const Machine machine = InspectMachine(settings.dir);
  return {{"machine",
           {{"cores", machine.cores},
            {"processor", machine.processor},
            {"kernel", machine.kernel},
            {"file_system", machine.file_system},
            {"process_log", ProcessLogText(settings.dir + "/process-log")},
            {"memory_mib", machine.memory_mib},
            {"build", machine.build}}},
          {"keys", settings.keys},
          {"rounds", settings.rounds},
          {"seed", settings.seed},
          {"scenarios", outcomes}};
}

void PrintTable(const json& report, std::ostream& out) {
  const Line head = {"scenario", "figure", "compared with", "ratio (min..max)", "wanted", ""};
  std::vector<Line> wanted = {head};
  std::vector<Line> informational;
  ForEachRow(report, [&](const json& row) {
    (row.contains("wanted") ? wanted : informational)
        .push_back({row["what"].get<std::string>(),
                    Number(row["figure"]) + " " + row["unit"].get<std::string>(),
                    row.value("compared_with", ""), Ratio(row), Wanted(row), Met(row)});
  });
  if (!informational.empty()) {
    if (wanted.size() > 1) {
      wanted.push_back({});
    }
    wanted.insert(wanted.end(), informational.begin(), informational.end());
  }
  PrintLines(wanted, out);
  const json& machine = report["machine"];
  out << "\nmedians of " << report["rounds"] << " rounds, " << report["keys"] << " keys, seed "
      << report["seed"] << "\n"
      << machine["cores"] << " cores (" << machine["processor"].get<std::string>() << "), "
      << machine["kernel"].get<std::string>() << ", " << machine["file_system"].get<std::string>()
      << ", " << machine["process_log"].get<std::string>() << ", "
      << machine["build"].get<std::string>() << "\n";
  for (const json& scenario : report["scenarios"]) {
    for (const json& note : scenario["notes"]) {
      out << "\n" << note.get<std::string>() << "\n";
    }
  }
}

Verdict VerdictOf(const json& report) {
  Verdict verdict;
  ForEachRow(report, [&verdict](const json& row) {
    if (row.contains("met")) {
      ++(row["met"].get<bool>() ? verdict.met : verdict.not_met);
    }
  });
  return verdict;
}

}  // namespace wq::bench

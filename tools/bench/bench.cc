#include "tools/bench/bench.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

namespace wq::bench {

Spread SpreadOf(std::vector<double> values) {
  Require(!values.empty(), "a figure without a value");
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {.median = median, .min = values.front(), .max = values.back()};
}

void Bench::Alternate(const std::vector<Subject>& subjects, size_t rounds) {
  for (size_t round = 0; round < rounds; ++round) {
    for (const Subject& subject : subjects) {
      const std::string dir = settings_.dir + "/subject";
      subject(dir);
      std::filesystem::remove_all(dir);
      malloc_trim(0);  // The next subject starts without this one's memory.
    }
  }
}

void Bench::Note(std::string_view figure, const char* unit, double value) {
  const auto it = std::find_if(figures_.begin(), figures_.end(),
                               [figure](const Figure& f) { return f.name == figure; });
  if (it != figures_.end()) {
    it->values.push_back(value);
  } else {
    figures_.push_back({.name = std::string(figure), .unit = unit, .values = {value}});
  }
}

const Figure& Bench::Find(std::string_view figure) const {
  const auto it = std::find_if(figures_.begin(), figures_.end(),
                               [figure](const Figure& f) { return f.name == figure; });
  Require(it != figures_.end(), "no figure " + std::string(figure));
  return *it;
}

std::vector<double> Bench::Ratios(const Row& row) const {
  const std::vector<double>& values = Find(row.figure).values;
  const std::vector<double>& against = Find(row.against).values;
  RequireEqual(values.size(), against.size(), row.what + ": rounds of the two sides");
  std::vector<double> ratios;
  for (size_t i = 0; i < values.size(); ++i) {
    ratios.push_back(values[i] / against[i]);
  }
  return ratios;
}

void Require(const Status& status, std::string_view what) {
  if (!status.ok()) {
    Require(false, std::string(what) + ": " + status.ToString());
  }
}

void Require(bool holds, std::string_view what) {
  if (!holds) {
    std::fprintf(stderr, "wqbench: wrong result: %.*s\n", static_cast<int>(what.size()),
                 what.data());
    _exit(1);  // Other threads may be running. The parent removes the directory.
  }
}

void RequireEqual(size_t is, size_t should, std::string_view what) {
  if (is != should) {
    Require(false, std::string(what) + ": " + std::to_string(is) + " rather than " +
                       std::to_string(should));
  }
}

void InThreads(size_t threads, const std::function<void(size_t thread)>& work) {
  if (threads == 1) {
    work(0);
    return;
  }
  std::vector<std::thread> running;
  running.reserve(threads);
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&work, i] { work(i); });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
}

std::pair<size_t, size_t> Slice(size_t count, size_t threads, size_t thread) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

}  // namespace wq::bench

// Bench: the measurements, checks and bounds of one scenario of wqbench.
//
//   void Fill(Bench& bench) {
//     bench.Alternate({[&](const std::string& dir) { bench.Note("floor", kPerSecond, ...); },
//                      [&](const std::string& dir) { bench.Note("wq", kPerSecond, ...); }});
//     bench.Want({.what = "fill", .figure = "wq", .against = "floor", .bound = 0.6});
//   }
//
// The subjects are measured in turn, all of them in each round, so that other load of the machine
// affects all of them. A wrong result ends the process with status 1: the speed of a wrong result
// is no figure. Threading: Require is thread-safe; everything else is for the main thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wq/options.h"
#include "wq/status.h"

namespace wq::bench {

// The options of wqbench. If one is unset, the scenario has its own value.
struct Settings {
  std::string scenario;
  size_t keys = 1'000'000;
  std::optional<size_t> producers;
  std::optional<size_t> consumers;
  std::optional<Durability> durability;
  size_t rounds = 5;
  uint64_t seed = 1;
  bool long_run = false;
  std::string dir;       // Exists, and is used by this run alone.
  std::string program;   // The path of this program, for children.
  std::string go_bench;  // The benchmarks of bindings/go as a program; empty: none.
};

// Units. Ratios of rates should be high, those of times and sizes low.
inline constexpr const char* kPerSecond = "/s";
inline constexpr const char* kSeconds = "s";
inline constexpr const char* kMilliseconds = "ms";
inline constexpr const char* kMicroseconds = "us";
inline constexpr const char* kNanoseconds = "ns";
inline constexpr const char* kBytes = "bytes";
inline constexpr const char* kMebibytes = "MiB";
inline constexpr const char* kTimes = "times";

// A measured quantity, with one value or more of each round.
struct Figure {
  std::string name;
  std::string unit;
  std::vector<double> values;
};

struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
Spread SpreadOf(std::vector<double> values);  // REQUIRES: not empty.

// A line of the table: a figure, by itself or as its ratio to another figure of the same rounds.
struct Row {
  std::string what;
  std::string figure;
  std::string against = {};                    // Empty: the bound is for the figure itself.
  std::string compared_with = {};              // The name of `against` in the table.
  bool at_most = false;                        // Whether the bound is an upper one.
  std::optional<double> bound = std::nullopt;  // Unset: for information.
};

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Bench {
 public:
  explicit Bench(Settings settings) : settings_(std::move(settings)) {}

  const Settings& settings() const { return settings_; }
  const std::vector<Figure>& figures() const { return figures_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& notes() const { return notes_; }

  // Calls each subject once a round, with a path that does not exist. The subject may create a file
  // or a folder there, which is removed after the call.
  using Subject = std::function<void(const std::string& dir)>;
  void Alternate(const std::vector<Subject>& subjects) { Alternate(subjects, settings_.rounds); }
  // The same with twice as many rounds, for ratios that differ by a factor from round to round.
  void AlternateTwice(const std::vector<Subject>& subjects) {
    Alternate(subjects, 2 * settings_.rounds);
  }

  // Adds a value to a figure.
  void Note(std::string_view figure, const char* unit, double value);
  void Want(Row row) { rows_.push_back(std::move(row)); }
  // Adds a remark, which is printed below the table.
  void Say(std::string note) { notes_.push_back(std::move(note)); }

  // The figure of this name; ends the process if there is none.
  const Figure& Find(std::string_view figure) const;
  // The figure's values divided by those of `against`, round by round.
  std::vector<double> Ratios(const Row& row) const;

 private:
  void Alternate(const std::vector<Subject>& subjects, size_t rounds);

  const Settings settings_;
  std::vector<Figure> figures_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

// Ends the process with status 1 and a message if `status` is not Ok, or `holds` is false.
void Require(const Status& status, std::string_view what);
void Require(bool holds, std::string_view what);
// The same if the numbers differ, with both numbers in the message.
void RequireEqual(size_t is, size_t should, std::string_view what);

inline double Rate(size_t operations, double seconds) {
  return static_cast<double>(operations) / seconds;
}

// Runs `work(0)` ... `work(threads - 1)` in parallel; returns when all have returned.
void InThreads(size_t threads, const std::function<void(size_t thread)>& work);
// The part of [0, count) for `thread`: its begin and its end.
std::pair<size_t, size_t> Slice(size_t count, size_t threads, size_t thread);

}  // namespace wq::bench

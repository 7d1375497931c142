// Bench: what one scenario of wqbench measures, checks and wants.
//
//   void Fill(Bench& bench) {
//     bench.Alternate({[&](const std::string& dir) { bench.Note("floor", kPerSecond, ...); },
//                      [&](const std::string& dir) { bench.Note("wq", kPerSecond, ...); }});
//     bench.Want({.what = "fill", .figure = "wq", .against = "floor", .bound = 0.6});
//   }
//
// Subjects are measured in turn, a whole round of them before the next, so that whatever else the
// machine does meets all of them. A wrong result ends the process with status 1: a fast wrong answer
// is no figure. Threading: Require is thread-safe; all else belongs to the main thread.
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

// Unset: as the scenario has it.
struct Settings {
  std::string scenario;
  size_t keys = 1'000'000;
  std::optional<size_t> producers;
  std::optional<size_t> consumers;
  std::optional<Durability> durability;
  size_t rounds = 5;
  uint64_t seed = 1;
  bool long_run = false;
  std::string dir;      // Exists; for this run alone.
  std::string program;  // This program, for children.
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

// One thing that was measured, once or more in each round.
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

// A line of the table: a figure, by itself or as a ratio to another one of the same rounds.
struct Row {
  std::string what;
  std::string figure;
  std::string against = {};                    // Empty: the figure itself is what is wanted.
  std::string compared_with = {};              // What to call `against` in the table.
  bool at_most = false;                        // Otherwise at least.
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

  // Calls each subject once a round, with a path where nothing is; what it makes there is removed.
  using Subject = std::function<void(const std::string& dir)>;
  void Alternate(const std::vector<Subject>& subjects);

  // One more value of a figure.
  void Note(std::string_view figure, const char* unit, double value);
  void Want(Row row) { rows_.push_back(std::move(row)); }
  // A word to whoever reads the figures.
  void Say(std::string note) { notes_.push_back(std::move(note)); }

  // The figure of this name; ends the process if there is none.
  const Figure& Find(std::string_view figure) const;
  // The figure's value over that of `against`, round by round.
  std::vector<double> Ratios(const Row& row) const;

 private:
  const Settings settings_;
  std::vector<Figure> figures_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

// End the process with status 1 and a message if something is not as it must be.
void Require(const Status& status, std::string_view what);
void Require(bool holds, std::string_view what);
// The same, and both numbers are told.
void RequireEqual(size_t is, size_t should, std::string_view what);

inline double Rate(size_t operations, double seconds) {
  return static_cast<double>(operations) / seconds;
}

// Runs `work(0)` ... `work(threads - 1)` at once; returns when all have returned.
void InThreads(size_t threads, const std::function<void(size_t thread)>& work);
// The part of [0, count) that is the thread's.
std::pair<size_t, size_t> Slice(size_t count, size_t threads, size_t thread);

}  // namespace wq::bench

// Scenario bindings: the same Adds in C++, through C and through Go.
//
// The cost of a crossing is that of a call through the same border that does nothing. It is not
// counted: the rows show what a binding adds to it.

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tools/bench/process.h"
#include "tools/bench/scenarios.h"
#include "tools/bench/subjects.h"
#include "wq/wq.h"

namespace wq::bench {
namespace {

constexpr double kNanosecondsASecond = 1e9;
constexpr size_t kCrossings = 1'000'000;

// Nanoseconds of a call.
double PerCall(double seconds, size_t calls) {
  return seconds * kNanosecondsASecond / static_cast<double>(calls);
}

double AddsInCxx(const Keys& keys, const std::string& dir) {
  const Subject subject = Subject::Open(dir);
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (const Status status = subject.queue->Add(keys[i]); !status.ok()) {
      Require(status, "Add");
    }
  }
  Require(subject.queue->Flush(Durability::kProcess), "Flush");
  const double seconds = watch.Seconds();
  RequireEqual(subject.queue->Len(), keys.size(), "keys in the queue");
  RequireOnDisk(dir, {.pending = keys.size()}, "Adds in C++");
  return PerCall(seconds, keys.size());
}

void RequireCode(wq_code code, const wq_error& error, const char* what) {
  if (code != WQ_OK) {
    Require(false, std::string(what) + ": " + error.message);
  }
}

double AddsThroughC(const Keys& keys, const std::string& dir) {
  wq_error error{};
  wq_store store = WQ_NO_STORE;
  wq_queue queue = WQ_NO_QUEUE;
  wq_store_options options{};
  options.size = sizeof options;
  options.create_if_missing = 1;
  RequireCode(wq_store_open(dir.c_str(), &options, &store, &error), error, "wq_store_open");
  const std::string name(kQueueName);
  RequireCode(wq_store_open_queue(store, name.c_str(), nullptr, &queue, &error), error,
              "wq_store_open_queue");
  const Stopwatch watch;
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = keys[i];
    RequireCode(wq_queue_add(queue, key.data(), key.size(), nullptr, nullptr, &error), error,
                "wq_queue_add");
  }
  RequireCode(wq_store_flush(store, WQ_PROCESS, &error), error, "wq_store_flush");
  const double seconds = watch.Seconds();
  RequireCode(wq_store_free(store, &error), error, "wq_store_free");
  RequireOnDisk(dir, {.pending = keys.size()}, "Adds through C");
  return PerCall(seconds, keys.size());
}

double CrossingToC() {
  const Stopwatch watch;
  for (size_t i = 0; i < kCrossings; ++i) {
    wq_version();
  }
  return PerCall(watch.Seconds(), kCrossings);
}

// The nanoseconds of a call in the output of a Go benchmark: "BenchmarkName-2  1000  412.5 ns/op".
double GoNanoseconds(const std::string& output, const std::string& benchmark) {
  const size_t line = output.find("\n" + benchmark);
  const size_t unit = output.find(" ns/op", line);
  Require(line != std::string::npos && unit != std::string::npos,
          "the Go program did not measure " + benchmark + ": " + output);
  const size_t number = output.find_last_of(" \t", unit - 1);
  return std::strtod(output.c_str() + number, nullptr);
}

// Notes a rate, and the rate without the time of the crossing.
void NoteBinding(Bench& bench, const std::string& language, double add, double crossing) {
  Require(add > crossing, "a crossing to " + language + " took longer than an Add");
  bench.Note(language, kPerSecond, kNanosecondsASecond / add);
  bench.Note(language + " beyond the crossing", kPerSecond, kNanosecondsASecond / (add - crossing));
  bench.Note(language + " crossing", kNanoseconds, crossing);
}

// Runs the benchmarks of the Go package with the same number of keys. They check their own result.
void AddsThroughGo(Bench& bench, size_t keys, const std::string& dir) {
  std::filesystem::create_directory(dir);
  Child child("/usr/bin/env", {"TMPDIR=" + dir, bench.settings().go_bench, "-test.run=^$",
                               "-test.bench=^Benchmark(Crossing|AddProcess)$",
                               "-test.benchtime=" + std::to_string(keys) + "x"});
  const std::string output = child.ReadAll();
  RequireEqual(static_cast<size_t>(child.Wait()), 0, "the exit status of the Go benchmarks");
  NoteBinding(bench, "Go", GoNanoseconds(output, "BenchmarkAddProcess"),
              GoNanoseconds(output, "BenchmarkCrossing"));
}

}  // namespace

void Bindings(Bench& bench) {
  const Keys keys(std::max<size_t>(bench.settings().keys / 2, 1), bench.settings().seed);
  std::vector<std::string> languages = {"C"};
  std::vector<Bench::Subject> subjects = {
      [&](const std::string& dir) {
        bench.Note("C++", kPerSecond, kNanosecondsASecond / AddsInCxx(keys, dir));
      },
      [&](const std::string& dir) {
        const double crossing = CrossingToC();
        NoteBinding(bench, "C", AddsThroughC(keys, dir), crossing);
      }};
  if (bench.settings().go_bench.empty()) {
    bench.Say("Go was not measured: tools/bench/go_bench.sh does that.");
  } else {
    languages.emplace_back("Go");
    subjects.emplace_back([&](const std::string& dir) { AddsThroughGo(bench, keys.size(), dir); });
  }
  bench.AlternateTwice(subjects);
  for (const std::string& language : languages) {
    bench.Want({.what = "Add through " + language + ", kProcess, 1 thread",
                .figure = language + " beyond the crossing",
                .against = "C++",
                .compared_with = "C++; the crossing is not counted",
                .bound = 0.7});
    bench.Want({.what = "Add through " + language + ", kProcess, 1 thread",
                .figure = language,
                .against = "C++"});
  }
}

}  // namespace wq::bench

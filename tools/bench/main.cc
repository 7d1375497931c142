// wqbench: measures the speed of wq on this machine, beside bare RocksDB and a queue in memory.
//
// Each scenario runs in a process of its own, this program with --here, so that none inherits the
// memory of another scenario. That process prints its outcome as JSON; the parent collects them.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/bench/process.h"
#include "tools/bench/report.h"
#include "tools/bench/scenarios.h"

namespace wq::bench {
namespace {

struct Args {
  Settings settings;
  std::vector<std::string> scenarios;
  std::string output = "table";
  std::string dir;  // Empty: a new directory in TMPDIR.
  bool strict = false;
  bool here = false;
};

const Scenario* FindScenario(const std::string& name) {
  for (const Scenario& scenario : kScenarios) {
    if (name == scenario.name) {
      return &scenario;
    }
  }
  return nullptr;
}

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const Scenario& scenario : kScenarios) {
    if (scenario.help != nullptr) {
      names.emplace_back(scenario.name);
    }
  }
  return names;
}

std::string Footer() {
  std::string text = "Scenarios:\n";
  for (const std::string& name : ScenarioNames()) {
    text += "  " + name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') +
            FindScenario(name)->help + "\n";
  }
  return text +
         "\nExamples:\n"
         "  wqbench --scenario fill --keys 1000000 -o json\n"
         "  wqbench --scenario ack --durability power --rounds 9\n"
         "\nExit codes: 0 measured, 1 a wrong result (or, with --strict, a bound that is not met), "
         "2 usage\n";
}

void Describe(CLI::App& app, Args* args) {
  static const std::map<std::string, Durability> kDurabilities = {{"async", Durability::kAsync},
                                                                  {"process", Durability::kProcess},
                                                                  {"power", Durability::kPower}};
  Settings& settings = args->settings;
  app.add_option("--scenario", args->scenarios, "The scenarios to run (default: all)")
      ->type_name("NAME...")
      ->delimiter(',')
      ->check(
          [](const std::string& name) {
            return FindScenario(name) == nullptr ? "there is no scenario " + name : std::string();
          },
          "");
  app.add_option("--keys", settings.keys, "Keys, or calls, of a round")
      ->check(CLI::Range(size_t{100}, size_t{100'000'000}))
      ->capture_default_str();
  app.add_option("--producers", settings.producers, "Threads that add, in fill and mix")
      ->check(CLI::Range(1, 1000));
  app.add_option("--consumers", settings.consumers, "Threads that get, in drain and mix")
      ->check(CLI::Range(1, 1000));
  app.add_option("--durability", settings.durability,
                 "async, process or power, in scenarios with a choice")
      ->transform(CLI::CheckedTransformer(kDurabilities));
  app.add_option("--rounds", settings.rounds, "Rounds; a median needs five at least")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "The seed of the order of the keys")
      ->capture_default_str();
  app.add_option("-o,--output", args->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--dir", args->dir,
                 "Measure on the disk of this directory, in a new directory that is removed again");
  app.add_option(
         "--go-bench", settings.go_bench,
         "The benchmarks of bindings/go as a program, for bindings (tools/bench/go_bench.sh)")
      ->check(CLI::ExistingFile);
  app.add_flag("--long", settings.long_run,
               "churn with ten times the life cycles, replication with ten minutes of them");
  app.add_flag("--strict", args->strict, "Exit 1 if a bound is not met");
  app.add_flag("--here", args->here, "In this process and in --dir itself; JSON")->group("");
  app.footer(Footer());
}

// The arguments with which this program runs one scenario.
std::vector<std::string> ChildArguments(const std::vector<std::string>& words,
                                        const std::string& scenario, const std::string& dir) {
  std::vector<std::string> arguments = words;  // Of a repeated option the last value counts.
  arguments.insert(arguments.end(), {"--here", "--scenario", scenario, "--dir", dir});
  return arguments;
}

int RunHere(Args args) {
  args.settings.scenario = args.scenarios.back();
  args.settings.dir = args.dir;
  Bench bench(args.settings);
  FindScenario(args.settings.scenario)->run(bench);
  std::cout << ToJson(args.settings.scenario, bench) << std::endl;
  return 0;
}

int RunAll(Args args, const std::vector<std::string>& words) {
  const FreshDirectory fresh(args.dir);
  args.settings.dir = fresh.path();
  if (args.scenarios.empty()) {
    args.scenarios = ScenarioNames();
  }
  std::vector<nlohmann::json> outcomes;
  for (const std::string& scenario : args.scenarios) {
    const Stopwatch watch;
    Child child(args.settings.program, ChildArguments(words, scenario, fresh.path()),
                Child::Group::kOwn);
    const std::string text = child.ReadAll();
    if (const int status = child.Wait(); status != 0) {
      std::cerr << "wqbench: " << scenario << " failed\n";
      return 1;
    }
    outcomes.push_back(nlohmann::json::parse(text));
    outcomes.back()["seconds"] = watch.Seconds();
    std::cerr << scenario << ": " << std::lround(watch.Seconds()) << " s\n";
  }
  const nlohmann::json report = Report(args.settings, outcomes);
  if (args.output == "json") {
    std::cout << report.dump(2) << "\n";
  } else {
    PrintTable(report, std::cout);
  }
  const Verdict verdict = VerdictOf(report);
  std::cerr << verdict.met << " met, " << verdict.not_met << " not met\n";
  return args.strict && verdict.not_met > 0 ? 1 : 0;
}

int Run(int argc, char** argv) {
  Args args;
  args.settings.program = std::filesystem::read_symlink("/proc/self/exe");
  CLI::App app("Measures wq beside bare RocksDB (floor) and a queue in memory (reference).",
               "wqbench");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  Describe(app, &args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return args.here ? RunHere(std::move(args))
                   : RunAll(std::move(args), std::vector<std::string>(argv + 1, argv + argc));
}

}  // namespace
}  // namespace wq::bench

int main(int argc, char** argv) {
  try {
    return wq::bench::Run(argc, argv);
  } catch (const std::exception& error) {  // Of std::filesystem, and of the JSON library.
    std::fprintf(stderr, "wqbench: %s\n", error.what());
    return 1;
  }
}

// What limits a run of commands: how many run at once, how often one starts, and when the run
// halts. The texts and their meaning are those of GNU parallel's -j and --halt.
//
//   std::optional<Workers> workers = ParseWorkers("150%");   // CountFor(8) is 12.
//   std::optional<Halt> halt = ParseHalt("soon,fail=10%");
//   if (halt->Reached(succeeded, failed, total)) …
//
// Immutable.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wqctl {

// More are never run at once.
inline constexpr int kMaxWorkers = 1024;

struct Workers {
  enum class Kind : uint8_t { kCount, kMorePerMachine, kPercent };
  Kind kind = Kind::kCount;
  int number = 1;  // A count from 1; an addend, which may be negative; a percentage.

  // From 1 to kMaxWorkers. `cpus` is how many CPUs this process may use.
  int CountFor(int cpus) const;
};

// "4", "0" (as many as possible), "+1" and "-1" (more or fewer than CPUs), "50%" (of the CPUs).
// nullopt: anything else, or a count above kMaxWorkers.
std::optional<Workers> ParseWorkers(std::string_view text);

// The number of CPUs that this process may use.
int UsableCpus();

// The time from one start to the next.
struct Rate {
  std::chrono::microseconds interval{0};  // 0: unlimited.
};

// "10", "0.5", "10/s", "100/m", "1000/h". nullopt: anything else, or not from one start per day to
// a million starts per second.
std::optional<Rate> ParseRate(std::string_view text);

struct Halt {
  enum class When : uint8_t {
    kNever,
    kSoon,  // No new command; running commands end by themselves.
    kNow,   // Running commands are killed.
  };
  enum class Why : uint8_t { kFail, kSuccess, kDone };
  When when = When::kNever;
  Why why = Why::kFail;
  uint64_t number = 0;
  bool percent = false;  // `number` is a percentage of the keys at the start of the run.

  bool Reached(uint64_t succeeded, uint64_t failed, uint64_t keys_at_start) const;
};

// "never", or "soon" or "now" with ",fail=N", ",success=N" or ",done=N"; N may be a percentage.
// Short forms: "0" (never), "1" and "2" (soon and now, at one failure), "-1" and "-2" (at one
// success), "N%" (soon, at N percent of failures). nullopt: anything else.
std::optional<Halt> ParseHalt(std::string_view text);

}  // namespace wqctl

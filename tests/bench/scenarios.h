// The scenarios of wqbench: each is one function, listed in kScenarios.
#pragma once

#include "tests/bench/bench.h"

namespace wq::bench {

// scenarios_throughput.cc
void Fill(Bench& bench);
void Drain(Bench& bench);
void Mix(Bench& bench);
// scenarios_ack.cc
void Ack(Bench& bench);
void Batch(Bench& bench);

struct Scenario {
  const char* name;
  const char* help;
  void (*run)(Bench& bench);
};

inline constexpr Scenario kScenarios[] = {
    {"fill", "Add of --keys distinct keys, then Flush", Fill},
    {"drain", "Get and Done of --keys keys, then Flush", Drain},
    {"mix", "producers and consumers on 10 000 hot keys", Mix},
    {"ack", "each Add waits until it is durable; 1 and 16 threads", Ack},
    {"batch", "AddBatch of 1000 keys, each on the disk when it returns", Batch},
};

}  // namespace wq::bench

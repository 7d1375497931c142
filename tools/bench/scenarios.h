// The scenarios of wqbench: each is one function, listed in kScenarios.
#pragma once

#include "tools/bench/bench.h"

namespace wq::bench {

// scenarios_throughput.cc
void Fill(Bench& bench);
void Drain(Bench& bench);
void Mix(Bench& bench);
// scenarios_ack.cc
void Ack(Bench& bench);
void AckFloorChild(Bench& bench);
void AckQueueChild(Bench& bench);
void AckLost(Bench& bench);
void Batch(Bench& bench);
// scenarios_bindings.cc
void Bindings(Bench& bench);
// scenarios_delay.cc
void Delay(Bench& bench);
void Backoff(Bench& bench);
void Lanes(Bench& bench);
// scenarios_groups.cc
void Groups(Bench& bench);
void Priorities(Bench& bench);
// scenarios_resync.cc
void Resyncs(Bench& bench);
void Sources(Bench& bench);
// scenarios_recover.cc
void Recover(Bench& bench);
void RecoverChild(Bench& bench);
// scenarios_churn.cc
void Churn(Bench& bench);
// scenarios_latency.cc
void Latency(Bench& bench);
void Idle(Bench& bench);
// scenarios_pressure.cc
void Pressure(Bench& bench);
// scenarios_viewers.cc
void Viewers(Bench& bench);
// scenarios_size.cc
void Scale(Bench& bench);
void Memory(Bench& bench);
// served/scenario_server.cc
void Serving(Bench& bench);
void NoiseChild(Bench& bench);
// served/served_store.cc
void ServerChild(Bench& bench);
// replication/scenario_replication.cc
void Replicated(Bench& bench);
// replication/replicas.cc
void ReplicatedFollowerChild(Bench& bench);
// replication/takeover.cc
void ReplicatedFillChild(Bench& bench);
void ReplicatedNextChild(Bench& bench);
// replication/lives.cc
void ReplicatedLivesChild(Bench& bench);

struct Scenario {
  const char* name;
  const char* help;  // Null: not listed; another scenario, or a test, starts it.
  void (*run)(Bench& bench);
};

inline constexpr Scenario kScenarios[] = {
    {"fill", "Add of --keys distinct keys, then Flush", Fill},
    {"drain", "Get and Done of --keys keys, then Flush", Drain},
    {"mix", "producers and consumers on 10 000 hot keys", Mix},
    {"ack", "each Add waits until it is durable, by 1 and 16 threads; then SIGKILL", Ack},
    {"batch", "AddBatch of 1000 keys, each on the disk when it returns", Batch},
    {"bindings", "Add through C, and through Go with --go-bench", Bindings},
    {"delay", "AddAfter of half of --keys keys, then all fire", Delay},
    {"backoff", "AddRateLimited and Forget of a quarter of --keys keys", Backoff},
    {"lanes", "a quarter of --keys queued keys move to the other lane and back", Lanes},
    {"groups", "lives of keys of a hundredth of the groups; the others are at their limit", Groups},
    {"priorities", "keys that are each in a lane of their own, and lanes of closed groups",
     Priorities},
    {"resync", "keys that are reconciled again in each period: how evenly they come", Resyncs},
    {"sources", "observations of --keys objects, and the list of a restarted controller", Sources},
    {"recover", "opening after SIGKILL: pending, half as many delayed, half as many failing",
     Recover},
    {"churn", "lives of 10 000 hot keys; speed, disk and memory over ten times --keys lives",
     Churn},
    {"latency", "Add at a fixed rate, by durability", Latency},
    {"pressure", "Adds of 4 KiB keys by 8 threads; Adds beside the deletion of --keys keys",
     Pressure},
    {"viewers", "Adds beside eight readers of --keys queued and a third as many quarantined keys",
     Viewers},
    {"scale", "a call at a hundredth of --keys, ... and at ten times --keys", Scale},
    {"memory", "bytes a pending key, beyond its own", Memory},
    {"idle", "wake-ups of a queue with nothing to do; opening an empty store", Idle},
    {"server", "Adds, workers and 1000 idle connections through the control socket", Serving},
    {"replication", "a store whose log three members of etcd keep, beside bare etcd", Replicated},
    {"ack-floor-child", nullptr, AckFloorChild},
    {"ack-wq-child", nullptr, AckQueueChild},
    {"ack-lost", nullptr, AckLost},
    {"recover-child", nullptr, RecoverChild},
    {"server-child", nullptr, ServerChild},
    {"noise-child", nullptr, NoiseChild},
    {"replicated-follower-child", nullptr, ReplicatedFollowerChild},
    {"replicated-fill-child", nullptr, ReplicatedFillChild},
    {"replicated-next-child", nullptr, ReplicatedNextChild},
    {"replicated-lives-child", nullptr, ReplicatedLivesChild},
    {"wrong-result", nullptr, [](Bench&) { RequireEqual(1, 2, "a result that is wrong"); }},
};

}  // namespace wq::bench

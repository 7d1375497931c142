// hourly [OBJECTS [HOURS [SPEED]]]: reconciles each of 100 000 objects again every hour, while
// events of single objects come in between. Prints how evenly the resyncs come, and how long the
// events wait. The hours are SPEED times as short as real ones (default: 600), so resyncs come
// as many times as densely; the events' waits are real time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "wq/clock.h"
#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;
using RealTime = std::chrono::steady_clock;

namespace {

constexpr auto kEventInterval = 5ms;
// The clock's hours pass in steps: after a longer one resyncs come more slowly, as if the machine
// had been too busy to look for them.
constexpr std::chrono::microseconds kStep = 40ms;

// How long the events wait for their reconcile.
struct Events {
  explicit Events(size_t objects) : begun_at(objects) {}

  std::vector<std::atomic<int64_t>> begun_at;  // Of each object: real time, ns; 0: none waits.
  std::mutex mu;
  std::vector<double> waits_ms;  // Under mu.
};

int64_t NowNs() { return RealTime::now().time_since_epoch().count(); }

void End(size_t object, Events* events) {
  const int64_t begun_at = events->begun_at[object].exchange(0);
  if (begun_at == 0) return;  // A resync.
  const std::lock_guard lock(events->mu);
  events->waits_ms.push_back(static_cast<double>(NowNs() - begun_at) / 1e6);
}

// Lets the clock run for so many minutes, and adds events. `resyncs`: how many keys were resynced
// in each minute.
wq::Status Run(size_t minutes, double speed, wq::Queue* volumes, wq::ManualClock* clock,
               Events* events, std::vector<uint64_t>* resyncs) {
  std::mt19937_64 random(1);
  const auto begin = RealTime::now();
  auto next_event = begin;
  std::chrono::microseconds past{0};
  uint64_t counted = volumes->Counts().adds;
  while (resyncs->size() < minutes) {
    std::this_thread::sleep_until(next_event);
    next_event += kEventInterval;
    const size_t object = random() % events->begun_at.size();
    int64_t none = 0;
    if (events->begun_at[object].compare_exchange_strong(none, NowNs())) {
      wq::AddOutcome outcome = wq::AddOutcome::kAdded;
      if (wq::Status s = volumes->Add(std::to_string(object), {}, &outcome); !s.ok()) return s;
      counted += outcome == wq::AddOutcome::kAdded ? 1 : 0;
    }
    const std::chrono::duration<double> real = RealTime::now() - begin;
    while (past + kStep <= real * speed && resyncs->size() < minutes) {
      clock->Advance(kStep);
      past += kStep;
      volumes->Len();  // Looks for what is due, as the queue's own timer does.
      if (past % 1min < kStep) {
        const uint64_t adds = volumes->Counts().adds;
        resyncs->push_back(adds - counted);
        counted = adds;
      }
    }
  }
  return {};
}

// False: the resyncs came in a burst.
bool Print(size_t objects, const std::vector<uint64_t>& resyncs, Events* events) {
  const uint64_t all = std::accumulate(resyncs.begin(), resyncs.end(), uint64_t{0});
  const uint64_t busiest = *std::max_element(resyncs.begin(), resyncs.end());
  const double ratio = static_cast<double>(busiest) * 60 / static_cast<double>(objects);
  std::printf("%zu objects, %zu minutes: %llu resyncs, in the busiest minute %.2f of the mean\n",
              objects, resyncs.size(), static_cast<unsigned long long>(all), ratio);
  auto& waits = events->waits_ms;
  std::sort(waits.begin(), waits.end());
  if (!waits.empty()) {
    std::printf("%zu events: p50 %.3f ms, p99 %.3f ms, at most %.3f ms\n", waits.size(),
                waits[waits.size() / 2], waits[waits.size() * 99 / 100], waits.back());
  }
  return ratio <= 1.2;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t objects = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  const size_t hours = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 3;
  const double speed = argc > 3 ? std::strtod(argv[3], nullptr) : 600;
  if (objects == 0 || hours == 0 || !(speed >= 1)) {
    std::cerr << "usage: hourly [OBJECTS [HOURS [SPEED]]]\n";
    return 2;
  }
  wq::ManualClock clock;
  std::unique_ptr<wq::Store> store;
  wq::Queue* volumes = nullptr;
  wq::Status s =
      wq::Store::Open({.create_if_missing = true, .clock = &clock}, "volumes.wq", &store);
  const wq::QueueOptions options{.order = wq::Order::kTwoLanes, .resync = {.period = 1h}};
  if (s.ok()) s = store->OpenQueue("volumes", options, &volumes);

  // What a list of all objects gives, at the start.
  for (size_t i = 0; s.ok() && i < objects; ++i) {
    s = volumes->Add(std::to_string(i), {.lane = wq::kSlowLane});
  }
  Events events(objects);
  const auto reconcile = [&](const wq::ReconcileContext& context) -> wq::Result {
    End(std::strtoul(context.key().c_str(), nullptr, 10), &events);
    return {};
  };
  wq::Controller controller(volumes, reconcile);
  if (s.ok()) s = controller.Start();
  while (s.ok() && volumes->Counts().resyncs < objects) {
    std::this_thread::sleep_for(1ms);  // All are reconciled once.
  }
  std::vector<uint64_t> resyncs;
  if (s.ok()) s = Run(hours * 60, speed, volumes, &clock, &events, &resyncs);
  if (s.ok()) s = controller.Drain(1min);
  if (!s.ok()) {
    std::cerr << s.ToString() << "\n";
    return 1;
  }
  return Print(objects, resyncs, &events) ? 0 : 1;
}

// A low priority waits its turn, and not for ever.
#include <chrono>
#include <iostream>
#include <latch>

#include "wq/clock.h"
#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  wq::ManualClock clock;  // So that nobody waits for minutes here.
  std::unique_ptr<wq::Store> store;
  wq::Queue* jobs = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true, .clock = &clock}, "jobs.wq", &store);
  // A key counts as one lane higher for each minute that it has waited.
  const wq::QueueOptions options{.order = wq::Order::kPriorities, .aging = 1min};
  if (s.ok()) s = store->OpenQueue("jobs", options, &jobs);
  if (s.ok()) s = jobs->Add("report/january", {.lane = -5});
  clock.Advance(3min);
  if (s.ok()) s = jobs->Add("report/february", {.lane = -5});
  clock.Advance(3min);
  if (s.ok()) s = jobs->Add("event/web", {.lane = 0});

  std::latch all(3);
  const auto reconcile = [&all](const wq::ReconcileContext& context) -> wq::Result {
    std::cout << context.key() << "\n";
    all.count_down();
    return {};
  };
  wq::Controller controller(jobs, reconcile);
  if (s.ok()) s = controller.Start();
  if (s.ok()) {
    all.wait();
    s = controller.Drain(10s);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

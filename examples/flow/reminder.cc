// A lease is checked when it has not been renewed for a while: each renewal puts the check off.
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
  wq::Queue* leases = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true, .clock = &clock}, "leases.wq", &store);
  if (s.ok()) s = store->OpenQueue("leases", {}, &leases);

  std::latch checked(1);
  const auto reconcile = [&checked](const wq::ReconcileContext& context) -> wq::Result {
    std::cout << context.key() << " was not renewed for a minute\n";
    checked.count_down();
    return {};
  };
  wq::Controller controller(leases, reconcile);
  if (s.ok()) s = controller.Start();
  for (int i = 0; i < 3 && s.ok(); ++i) {
    // By default the earliest end would count: a minute after the first renewal.
    s = leases->AddAfter("node-1", 1min, {.delay_mode = wq::DelayMode::kReplace});
    clock.Advance(40s);
    std::cout << "renewed, " << leases->Counts().delayed << " check is due later\n";
  }
  clock.Advance(20s);  // A minute after the last one.
  if (s.ok()) {
    checked.wait();
    s = controller.Drain(10s);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

// A burst of events of one object becomes one reconcile.
#include <chrono>
#include <iostream>
#include <latch>

#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  std::unique_ptr<wq::Store> store;
  wq::Queue* configs = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "configs.wq", &store);
  // After 50 ms without an Add, and at the latest 2 s after the first.
  const wq::QueueOptions options{.debounce = {.quiet = 50ms, .max_wait = 2s}};
  if (s.ok()) s = store->OpenQueue("configs", options, &configs);
  for (int event = 0; s.ok() && event < 100; ++event) {
    s = configs->Add("gateway/routes");
  }
  if (s.ok()) s = configs->Add("gateway/certificate", {.debounce = wq::Debounce{}});  // At once.

  std::latch both(2);
  wq::Controller controller(configs, [&both](const wq::ReconcileContext& context) -> wq::Result {
    std::cout << "reconciling " << context.key() << "\n";
    both.count_down();
    return {};
  });
  if (s.ok()) s = controller.Start();
  if (s.ok()) {
    both.wait();
    s = controller.Drain(10s);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

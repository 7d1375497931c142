// Each object is reconciled again from time to time, until it is gone.
#include <chrono>
#include <iostream>
#include <latch>

#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  std::unique_ptr<wq::Store> store;
  wq::Queue* volumes = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "volumes.wq", &store);
  // In a controller: {1h}.
  const wq::QueueOptions options{.order = wq::Order::kTwoLanes, .resync = {.period = 50ms}};
  if (s.ok()) s = store->OpenQueue("volumes", options, &volumes);
  if (s.ok()) s = volumes->Add("default/data");
  if (s.ok()) s = volumes->Add("default/gone");

  std::latch thrice(3);
  const auto reconcile = [&](const wq::ReconcileContext& context) -> wq::Result {
    if (context.key() == "default/gone") {  // There is no such object any more.
      return volumes->Delete(context.key());
    }
    std::cout << "reconciling " << context.key() << "\n";
    thrice.count_down();
    return {};
  };
  wq::Controller controller(volumes, reconcile);
  if (s.ok()) s = controller.Start();
  if (s.ok()) {
    thrice.wait();
    s = controller.Drain(10s);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

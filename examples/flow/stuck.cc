// A reconcile that hangs is told while it hangs.
#include <chrono>
#include <iostream>
#include <latch>

#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  std::latch told(1);
  std::unique_ptr<wq::Store> store;
  wq::Queue* nodes = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "nodes.wq", &store);
  wq::QueueOptions options{.stuck_after = 50ms};
  options.on_stuck = [&told](const wq::StuckKey& stuck) {
    std::cout << stuck.key << " of " << stuck.queue << " hangs\n";
    told.count_down();
  };
  if (s.ok()) s = store->OpenQueue("nodes", options, &nodes);
  if (s.ok()) s = nodes->Add("node-1");

  wq::Controller controller(nodes, [&told](const wq::ReconcileContext& context) -> wq::Result {
    told.wait();  // Such as a connection that never answers.
    std::cout << "reconciled " << context.key() << "\n";
    return {};
  });
  if (s.ok()) s = controller.Start();
  if (s.ok()) {
    told.wait();
    s = controller.Drain(10s);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

#line 8 "docs/controller.md"
#include <pthread.h>
#include <signal.h>

#include <iostream>
#include <memory>

#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

// Makes the actual state equal to the desired state of this key. A repeated call changes nothing.
wq::Result Reconcile(const wq::ReconcileContext& context) {
  if (context.key() == "default/broken") {
    return wq::Result::TerminalError(wq::Status::InvalidArgument("no such image"));
  }
  if (context.stop_token().stop_requested()) {
    return wq::Status::ShuttingDown("interrupted");
  }
  std::cout << context.key() << ", failed " << context.NumRequeues() << " times\n";
  return wq::Result::RequeueAfter(10min);  // Check again, in case an event was missed.
}

int main() {
  sigset_t signals;  // Before the first thread, so that only sigwait gets them.
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  std::unique_ptr<wq::Store> store;
  wq::Queue* pods = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "pods.wq", &store);
  if (s.ok()) s = store->OpenQueue("pods", {}, &pods);
  if (s.ok()) s = pods->Add("default/pod-1");
  if (!s.ok()) {
    std::cerr << s.ToString() << "\n";
    return 1;
  }

  wq::Controller controller(pods, Reconcile,
                            {.max_concurrent_reconciles = 4, .reconcile_timeout = 30s});
  s = controller.Start();
  if (s.ok()) {
    int signal = 0;
    sigwait(&signals, &signal);
    s = controller.Drain(20s);
    if (!s.ok()) s = controller.Stop(5s);
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

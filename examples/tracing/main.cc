// tracing FILE: reconciles a key for two events. The first attempt fails, the second succeeds; each
// is a span in FILE, with links to the traces of both events.
#include <chrono>
#include <iostream>
#include <latch>

#include "otlp_file.h"
#include "wq/controller.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tracing FILE\n";
    return 2;
  }
  OtlpFile spans("pod-operator");
  std::unique_ptr<wq::Store> store;
  wq::Queue* pods = nullptr;
  const wq::QueueOptions retries{.limiter = std::make_shared<wq::ItemExponentialFailure>(1ms, 1s)};
  wq::Status s = spans.Open(argv[1]);
  if (s.ok()) s = wq::Store::Open({.create_if_missing = true}, "pods.wq", &store);
  if (s.ok()) s = store->OpenQueue("pods", retries, &pods);
  // What a tracer's span of each event says of itself: its header traceparent.
  if (s.ok()) {
    s = pods->Add("default/web",
                  {.reason = "Pod created",
                   .trace_parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
  }
  if (s.ok()) {
    s = pods->Add("default/web",
                  {.reason = "Node ready",
                   .trace_parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
  }
  if (s.ok()) s = pods->Add("default/web", {.reason = "resync"});

  std::latch twice(2);
  bool failed = false;
  const auto reconcile = [&](const wq::ReconcileContext& context) -> wq::Result {
    // Calls that this attempt makes belong to its trace: they send this header.
    std::cout << "reconciling " << context.key() << " with a traceparent of "
              << context.trace_parent().size() << " bytes\n";
    twice.count_down();
    if (failed) return {};
    failed = true;
    return wq::Status::IOError("the image is not there yet");
  };
  wq::Controller controller(pods, reconcile, {.observer = &spans, .trace = true});
  if (s.ok()) s = controller.Start();
  if (s.ok()) {
    twice.wait();
    s = controller.Drain(10s);
  }
  if (s.ok() && spans.lost() > 0) s = wq::Status::IOError("some spans were not written");
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

// A key that fails is tried again in its place, and is kept in quarantine for a day.
#include <chrono>
#include <iostream>
#include <latch>

#include "wq/controller.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  std::unique_ptr<wq::Store> store;
  wq::Queue* pods = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "pods.wq", &store);
  const wq::QueueOptions options{
      .max_requeues = 2,
      .quarantine_age = 24h,      // A key that nobody releases is dropped after a day,
      .quarantine_keys = 10'000,  // or when 10 000 others have failed since.
      .retry_place = wq::RetryPlace::kByAge,
      .limiter = std::make_shared<wq::ItemExponentialFailure>(0us, 1s)};
  if (s.ok()) s = store->OpenQueue("pods", options, &pods);
  for (const char* key : {"broken", "web-1", "web-2"}) {
    if (s.ok()) s = pods->Add(key);
  }

  std::latch calls(5);
  wq::Controller controller(pods, [&calls](const wq::ReconcileContext& context) -> wq::Result {
    std::cout << context.key() << ", failed " << context.NumRequeues() << " times\n";
    calls.count_down();
    return context.key() == "broken" ? wq::Status::IOError("no such image") : wq::Status();
  });
  if (s.ok()) s = controller.Start();
  if (s.ok()) {
    calls.wait();
    s = controller.Drain(10s);
  }
  for (const wq::QuarantinedKey& key : pods->Quarantined()) {
    std::cout << "in quarantine: " << key.key << ", " << key.last_error << "\n";
  }
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

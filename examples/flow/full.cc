// A producer is held up while a thousand keys are pending.
#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  std::unique_ptr<wq::Store> store;
  wq::Queue* files = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "files.wq", &store);
  const wq::QueueOptions options{.max_pending = 1000, .when_full = wq::WhenFull::kWait};
  if (s.ok()) s = store->OpenQueue("files", options, &files);

  wq::Controller controller(files, [](const wq::ReconcileContext&) { return wq::Result(); });
  if (s.ok()) s = controller.Start();
  for (int i = 0; s.ok() && i < 10'000; ++i) {
    s = files->Add("file-" + std::to_string(i));  // Waits while there is no room.
    if (files->Counts().queued > 1000) s = wq::Status::Full("the bound does not hold");
  }
  if (s.ok()) s = controller.Drain(10s);
  std::cout << files->Counts().dones << " files\n";
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

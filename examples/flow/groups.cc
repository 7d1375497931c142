// Tenants share a queue: at most two keys of each are reconciled at once, and they take turns.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string>

#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"

using namespace std::chrono_literals;

int main() {
  std::unique_ptr<wq::Store> store;
  wq::Queue* sites = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, "sites.wq", &store);
  const wq::QueueOptions options{
      .order = wq::Order::kFair,
      .group_of = [](std::string_view key) { return std::string(key.substr(0, key.find('/'))); },
      .group_limits = {.max_processing = 2}};
  if (s.ok()) s = store->OpenQueue("sites", options, &sites);
  for (int i = 0; s.ok() && i < 20; ++i) {
    for (const char* tenant : {"blog/", "shop/"}) {
      if (s.ok()) s = sites->Add(tenant + std::to_string(i));
    }
  }

  std::mutex mu;
  std::map<std::string, int> now;
  std::map<std::string, int> most;
  const auto reconcile = [&](const wq::ReconcileContext& context) {
    const std::string tenant(context.key().substr(0, context.key().find('/')));
    {
      const std::lock_guard lock(mu);
      most[tenant] = std::max(most[tenant], ++now[tenant]);
    }
    std::this_thread::sleep_for(5ms);
    const std::lock_guard lock(mu);
    --now[tenant];
    return wq::Result();
  };
  wq::Controller controller(sites, reconcile, {.max_concurrent_reconciles = 8});
  if (s.ok()) s = controller.Start();
  if (s.ok()) s = controller.Drain(10s);
  std::cout << sites->Counts().dones << " sites\n"
            << "of blog at most 2 at once: " << (most["blog"] <= 2 ? "yes" : "no") << "\n"
            << "of shop at most 2 at once: " << (most["shop"] <= 2 ? "yes" : "no") << "\n";
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

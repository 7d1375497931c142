// Tenants share a queue: at most two keys of each are reconciled at once, one tenant slowly, and
// one with a larger share.
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
  // The queue runs, and the limits are kept.
  if (s.ok()) s = sites->SetLimits("crawler", wq::GroupLimits{.rate = {.per_second = 50}});
  if (s.ok()) s = sites->SetLimits("shop", wq::GroupLimits{.max_processing = 3, .weight = 4});
  for (int i = 0; s.ok() && i < 20; ++i) {
    for (const char* tenant : {"blog/", "crawler/", "shop/"}) {
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
  const auto begin = std::chrono::steady_clock::now();
  if (s.ok()) s = controller.Start();
  if (s.ok()) s = controller.Drain(10s);
  const bool in_time = std::chrono::steady_clock::now() - begin >= 360ms;
  std::cout << sites->Counts().dones << " sites\n"
            << "of blog at most 2 at once: " << (most["blog"] <= 2 ? "yes" : "no") << "\n"
            << "of shop at most 3 at once: " << (most["shop"] <= 3 ? "yes" : "no") << "\n"
            << "20 of crawler took 18 periods or more: " << (in_time ? "yes" : "no") << "\n";
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

// What the handles stand for. Each lives from its Insert in the Registry to its Release; who has it
// pinned may use it. Threading: thread-safe, where the calls of the C++ API are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bindings/c/metrics.h"
#include "bindings/c/ready.h"
#include "bindings/c/registry.h"
#include "wq/controller.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wq::c {

struct StoreObject {
  static constexpr Kind kKind = Kind::kStore;
  uint64_t handle = 0;                        // Its own.
  std::shared_ptr<CallbackProvider> metrics;  // Null: none.
  std::unique_ptr<Store> store;

  std::mutex mu;
  std::vector<uint64_t> queues;       // Handles. Under mu.
  std::vector<uint64_t> workers;      // Those that have not left. Under mu.
  std::vector<uint64_t> controllers;  // Those that were not freed. Under mu.
};

struct QueueObject {
  static constexpr Kind kKind = Kind::kQueue;
  StoreObject* store = nullptr;
  Queue* queue = nullptr;
  size_t max_key_bytes = 0;
  std::shared_ptr<Ready> ready;
};

struct WorkerObject {
  static constexpr Kind kKind = Kind::kWorker;
  QueueObject* queue = nullptr;  // Lives longer.
  std::unique_ptr<Worker> worker;
};

struct ControllerObject {
  static constexpr Kind kKind = Kind::kController;
  StoreObject* store = nullptr;  // Lives longer.
  std::unique_ptr<Controller> controller;
};
// Stops the store's controllers, and waits for their reconciles. Their handles are gone then.
void EndControllers(StoreObject* store);

struct ViewObject {
  static constexpr Kind kKind = Kind::kView;
  std::unique_ptr<StoreView> view;  // Under mu.
  std::mutex mu;
  std::atomic<std::thread::id> user{};  // Who holds mu.
};

}  // namespace wq::c

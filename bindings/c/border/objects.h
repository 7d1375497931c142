// What the handles stand for. Each lives from its Insert in the Registry to its Release; who has it
// pinned may use it. Threading: thread-safe, where the calls of the C++ API are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bindings/c/border/clock.h"
#include "bindings/c/border/metrics.h"
#include "bindings/c/border/observer.h"
#include "bindings/c/border/ready.h"
#include "bindings/c/border/registry.h"
#include "wq/controller.h"
#include "wq/entry_diff.h"
#include "wq/import.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wq::c {

struct StoreObject {
  static constexpr Kind kKind = Kind::kStore;
  uint64_t handle = 0;                        // Its own.
  std::shared_ptr<CallbackProvider> metrics;  // Null: none.
  std::unique_ptr<CallbackClock> clock;       // Null: the machine's.
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
  std::unique_ptr<CallbackObserver> observer;
  std::unique_ptr<Controller> controller;  // Behind what it borrows.
};
// Stops the store's controllers, and waits for their reconciles. Their handles are gone then.
void EndControllers(StoreObject* store);

// Who is using a thing whose calls wait for each other (one_at_a_time.h).
struct Turn {
  std::mutex mu;
  std::atomic<std::thread::id> user{};  // Who holds mu.
};

struct ViewObject {
  static constexpr Kind kKind = Kind::kView;
  Turn turn;
  std::unique_ptr<StoreView> view;  // Under turn.
};

struct ImporterObject {
  static constexpr Kind kKind = Kind::kImporter;
  Turn turn;
  std::unique_ptr<Importer> importer;  // Under turn.
  bool over = false;                   // It failed, or is finished. Under turn.
};

struct DiffObject {
  static constexpr Kind kKind = Kind::kDiff;
  explicit DiffObject(const EntryDiff::Options& options) : diff(options) {}
  Turn turn;
  EntryDiff diff;    // Under turn.
  bool run = false;  // Under turn.
};

}  // namespace wq::c

// What the scenarios share: opening the subject, filling it, and looking at what is on disk.
//
// A failure, or a wrong count, ends the process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tests/bench/bench.h"
#include "tests/bench/floor.h"
#include "tests/bench/keys.h"
#include "tests/bench/reference_queue.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::bench {

inline constexpr std::string_view kQueueName = "bench";

// A store with one open queue.
struct Subject {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;

  // In `dir`, made if it is not there; in memory if `dir` is empty.
  static Subject Open(const std::string& dir, const QueueOptions& options = {}, Clock* clock = {});
};

// How many records a floor writes at once: so many when nobody waits for each, else one.
inline constexpr size_t kFloorBatch = 256;
size_t FloorBatch(Durability durability);

// Puts or erases the keys as pending ones, each thread its slice. At kAsync it syncs at the end.
enum class FloorChange { kPut, kErase };
void ChangePending(Floor* floor, const Keys& keys, FloorChange change, Durability durability,
                   size_t threads = 1);

// Adds all keys, each thread its slice; none may be known before.
void AddAll(Queue* queue, const Keys& keys, Durability durability, size_t threads = 1);
void AddAll(ReferenceQueue* queue, const Keys& keys, size_t threads = 1);

// Get and Done until `count` keys were handed out.
void DrainAll(Queue* queue, size_t count, size_t threads = 1);
void DrainAll(ReferenceQueue* queue, size_t count, size_t threads = 1);

struct OnDisk {
  size_t pending = 0;
  size_t delayed = 0;
  size_t failing = 0;
};
// Ends the process unless the store in `dir` holds exactly that, for whoever opens it now. The store
// may be open in this process: then it says what has reached the disk so far.
void RequireOnDisk(const std::string& dir, const OnDisk& should, std::string_view what);

const char* DurabilityName(Durability durability);

}  // namespace wq::bench

// Functions that the scenarios share: opening a subject, filling and draining it, and checking the
// contents of its store on disk.
//
// A failure, or a wrong count, ends the process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tools/bench/bench.h"
#include "tools/bench/floor.h"
#include "tools/bench/keys.h"
#include "tools/bench/reference_queue.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::bench {

inline constexpr std::string_view kQueueName = "bench";

// A store with one open queue.
struct Subject {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;

  // In `dir`, which is created if it does not exist; in memory if `dir` is empty.
  static Subject Open(const std::string& dir, const QueueOptions& options = {}, Clock* clock = {},
                      size_t history_bytes = 0);
};

// How many records a floor writes at once: kFloorBatch if the calls do not wait for the disk, else
// 1.
inline constexpr size_t kFloorBatch = 256;
size_t FloorBatch(Durability durability);

// Puts or erases the records of pending keys, each thread those of its slice. At kAsync syncs at
// the end.
enum class FloorChange { kPut, kErase };
void ChangePending(Floor* floor, const Keys& keys, FloorChange change, Durability durability,
                   size_t threads = 1);

// Adds all keys, each thread those of its slice. Each key must be new.
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
// Ends the process unless a reader that opens the store in `dir` finds exactly these numbers of
// keys. The store may be open in this process: a reader finds what has reached the disk.
void RequireOnDisk(const std::string& dir, const OnDisk& should, std::string_view what);

// "process log", or why a store in `dir` has none: then calls at kProcess wait for a write. `dir`
// must not exist, and does not exist afterwards.
std::string ProcessLogText(const std::string& dir);

const char* DurabilityName(Durability durability);

}  // namespace wq::bench

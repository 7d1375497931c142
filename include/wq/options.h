// The options of stores, queues and calls. One field, one meaning, one default, in place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace wq {

class Clock;
class Limiter;

// How far a call's effect has got when the call returns. Each level includes the ones before it.
enum class Durability : uint8_t {
  // In memory, and on its way: a background writer takes it at once. A process kill loses at most
  // what was not yet written; what survives is a prefix of the calls, without a hole.
  kAsync = 0,
  // In the operating system's hands: survives kill -9, not a power cut.
  kProcess = 1,
  // On the disk (fdatasync): survives a power cut.
  kPower = 2,
};

// A lane is an integer priority: a higher lane is handed out strictly before a lower one, and a
// lane is first in, first out. Two of them have names. (The numbers are those with which
// controller-runtime marks live and initial-list events.)
using Lane = int32_t;
inline constexpr Lane kFastLane = 0;
inline constexpr Lane kSlowLane = -100;

// Which lanes a queue has.
enum class Order : uint8_t {
  kFifo = 0,      // One lane, kFastLane.
  kTwoLanes = 1,  // kFastLane and kSlowLane.
};

struct StoreOptions {
  // Make a new store where there is none. Without it a missing store is NotFound, and nothing is
  // made.
  bool create_if_missing = false;

  // Refuse a store that exists already with AlreadyExists.
  bool error_if_exists = false;

  // Where time comes from. Borrowed; must outlive the store. nullptr is Clock::System().
  Clock* clock = nullptr;

  // Keep unflushed records in a vector that is sorted only when it is read or flushed, rather than
  // in a skip list. A queue never reads its store while it runs, so this is about ten times cheaper
  // to write; a reader beside a running owner pays a sort.
  bool vector_memtable = true;

  // Bound of the write-ahead log, and so of the time that reopening after a kill takes. A smaller
  // one flushes more often.
  size_t max_wal_bytes = size_t{64} << 20;

  // Bytes of unflushed records of one family at which they are flushed to a table file.
  size_t write_buffer_bytes = size_t{24} << 20;

  // What may wait a moment (the removal of a key that is Done) is written after this time at the
  // latest, or with the next write if that is earlier. A crash in between makes the key be handed
  // out once more.
  std::chrono::milliseconds flush_interval{10};

  // An unwritten batch larger than this makes kAsync calls wait for the writer: the bound of the
  // memory between a fast producer and a slow disk.
  size_t max_batch_bytes = size_t{8} << 20;
};

struct QueueOptions {
  // Make the queue where the store has none of this name. Without it, a missing one is NotFound.
  bool create_if_missing = true;

  Order order = Order::kFifo;

  // For calls that name none.
  Durability durability = Durability::kProcess;

  // Bytes; a longer key is InvalidArgument. At most kMaxKeyBytes.
  size_t max_key_bytes = 4096;

  // The delay of AddRateLimited. nullptr is ItemExponentialFailure(5 ms, 1000 s).
  std::shared_ptr<Limiter> limiter = nullptr;

  // Add of a delayed key also cancels its delay. Off by default: controllers use AddAfter as a
  // reminder that an Add in between must not take away.
  bool add_cancels_delay = false;
};

inline constexpr size_t kMaxKeyBytes = size_t{64} << 10;

// Longer last errors are cut to this many bytes, on a UTF-8 boundary.
inline constexpr size_t kMaxErrorBytes = 1024;

// Delays are cut to this: about a hundred years.
inline constexpr std::chrono::microseconds kMaxDelay = std::chrono::hours{24 * 36525};

struct AddOptions {
  // The lane to put the key in. Unset: the lane that the key has already (queued, delayed, or held
  // by a worker), else kFastLane. So a requeue keeps its lane.
  std::optional<Lane> lane = std::nullopt;

  // Unset: the queue's.
  std::optional<Durability> durability = std::nullopt;
};

}  // namespace wq

// The options of stores, queues and calls. One field, one meaning, one default, in place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wq {

class Clock;
class Limiter;
class MetricsProvider;
class Status;

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

// In which order a queue hands out.
enum class Order : uint8_t {
  kFifo = 0,        // One lane, kFastLane.
  kTwoLanes = 1,    // kFastLane and kSlowLane.
  kLanes = 2,       // QueueOptions::lanes.
  kPriorities = 3,  // Every 32-bit integer is a lane.
  kFair = 4,        // One lane; round robin over the groups, first in, first out within a group.
};

// What the Add of a queued key to another lane does.
enum class ReAdd : uint8_t {
  kSetsLane = 0,    // The lane of the latest Add counts, as in a queue with two lanes.
  kRaisesLane = 1,  // Only a higher lane counts, as in controller-runtime's priority queue.
};

// What the Add of a quarantined key does.
enum class QuarantinedAdd : uint8_t {
  kHold = 0,     // Nothing: the key stays where it is until somebody releases it.
  kRelease = 1,  // Takes it out of quarantine, its failures forgotten, and adds it.
};

struct StoreOptions {
  // Make a new store where there is none. Without it a missing store is NotFound, and nothing is
  // made.
  bool create_if_missing = false;

  // Refuse a store that exists already with AlreadyExists.
  bool error_if_exists = false;

  // Where time comes from. Borrowed; must outlive the store. nullptr is Clock::System().
  Clock* clock = nullptr;

  // Keep unflushed records in a list that is only appended to, and sorted only when it is read or
  // flushed, rather than in a skip list. A queue never reads its store while it runs, so this is about ten times cheaper
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

  // After a failed write the store is opened anew and what the disk lacks is written (Store::Health). The
  // first attempt comes after recovery_backoff_min, each further one after twice the wait, at most
  // recovery_backoff_max; what seldom goes away, damaged files, is looked at after recovery_backoff_max only.
  std::chrono::milliseconds recovery_backoff_min{100};
  std::chrono::milliseconds recovery_backoff_max{30'000};

  // Called when the store fails, with NotDurable and the failure, and when it is mended, with Ok. By a thread
  // of the store that holds no lock: it may call the store and its queues, but neither Mend nor
  // Close, and the next attempt waits until it returns.
  std::function<void(const Status&)> on_health = nullptr;

  // Where the metrics of the store and its queues go; see metrics.h. nullptr: nothing is measured.
  std::shared_ptr<MetricsProvider> metrics = nullptr;
};

struct QueueOptions {
  // Make the queue where the store has none of this name. Without it, a missing one is NotFound.
  bool create_if_missing = true;

  // It may be another one than last time: keys of a lane that is gone go to the back of kFastLane.
  Order order = Order::kFifo;

  // The lanes of Order::kLanes, each once; kFastLane is always one of them.
  std::vector<Lane> lanes = {};

  ReAdd re_add = ReAdd::kSetsLane;

  // No starvation: of so many hand-outs at least one comes from a lower lane while one has keys; the
  // one whose first key waits longest is chosen. 0: higher lanes are served strictly first. 1 would
  // never serve the highest lane and is refused.
  uint32_t starvation_bound = 0;

  // The group of a key (a namespace, a tenant, the node a pod runs on), for Order::kFair and shards. Called
  // outside the queue's locks, at the Add that makes a key known; kept with the key from then on, on
  // disk too. AddOptions::group goes before it. A key
  // without a group counts as one of the empty group under kFair, and as its own group for shards.
  std::function<std::string(std::string_view key)> group_of = nullptr;

  // 0: none. Otherwise keys are spread over so many shards by their group (xxh3 of its bytes, modulo
  // shards); of each shard at most one key is processing at a time, and keys are handed out through
  // Queue::Join. At most kMaxShards. It may be another number than last time.
  uint32_t shards = 0;

  // A key that fails after having been requeued so often is quarantined. 0: never.
  uint64_t max_requeues = 0;

  QuarantinedAdd quarantined_add = QuarantinedAdd::kHold;

  // For calls that name none.
  Durability durability = Durability::kProcess;

  // Bytes; a longer key is InvalidArgument. At most kMaxKeyBytes.
  size_t max_key_bytes = 4096;

  // The delay of AddRateLimited. nullptr is ItemExponentialFailure(5 ms, 1000 s).
  std::shared_ptr<Limiter> limiter = nullptr;

  // Add of a delayed key also cancels its delay. Off by default: controllers use AddAfter as a
  // reminder that an Add in between must not take away.
  bool add_cancels_delay = false;

  // For who waits for keys without a thread that blocks in Get (an event loop, another language's
  // scheduler): called after every change by which a Get that found nothing may find something, or
  // ShuttingDown: keys became ready, shards changed hands, the queue shuts down. So a GetFor(0) that
  // times out is to be repeated after the next call, and not before. Also called when others take the
  // key first. By the thread that made the change, or the store's timer; outside all locks, by several
  // threads at once. It must be short, and must not throw or close the store.
  std::function<void()> on_ready = nullptr;
};

inline constexpr size_t kMaxKeyBytes = size_t{64} << 10;
inline constexpr size_t kMaxGroupBytes = 1024;  // A longer group is InvalidArgument.
inline constexpr uint32_t kMaxShards = 65535;
inline constexpr size_t kMaxCursorBytes = size_t{64} << 10;

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

  // The key's group, if the queue does not know one of it yet. Unset: QueueOptions::group_of.
  std::optional<std::string_view> group = std::nullopt;
};

}  // namespace wq

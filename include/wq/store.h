// Store: a directory that holds named queues, and the one process that owns it.
//
//   std::unique_ptr<wq::Store> store;
//   wq::Status s = wq::Store::Open({.create_if_missing = true}, "/var/lib/pod-controller", &store);
//   wq::Queue* queue = nullptr;
//   if (s.ok()) s = store->OpenQueue("pods", {}, &queue);
//
// All queues of a store share its writes: one write, and one fdatasync, serves every waiting call.
// A process that was forked from the owner must not use the store: changing calls return Locked
// there, and its readings may block. Start other programs by fork and exec, or posix_spawn, as
// usual. A child whose exec failed may call _exit or exit: once a store has been opened, exit in a
// forked child flushes stdio and ends the process, without the functions of atexit and without
// destructors, which would wait for threads of the parent. To read a store that another process
// owns, use StoreView (store_view.h).
// Threading: thread-safe. Lifetime: a Queue* is valid until the Store is destroyed. Close it before
// main returns: a Store of static storage may end after what RocksDB needs.
// Memory and threads: without them Open returns IOError. A later change that finds no memory ends
// the process (std::terminate), as it would be half made: as by kill -9, nothing acknowledged is
// lost. A reading that finds none may throw std::bad_alloc.
// A crash: nothing that was acknowledged is lost; see Durability.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wq/options.h"
#include "wq/status.h"

namespace wq {

class Queue;
struct KeyHistory;

// What a replica knows of itself, at one instant.
struct ReplicaState {
  bool owner = false;
  uint64_t epoch = 0;         // Of its ownership; 0: none.
  std::string owner_name;     // The owner's; empty: nobody is, or it is not known.
  uint64_t applied = 0;       // The last entry of the log that its store has.
  int64_t applied_at_us = 0;  // Wall time at which it last had all of the log; 0: never.
  // Ok, or why the log cannot be reached or followed, or why the last ownership could not begin.
  Status log;
};

class Store {
 public:
  // Opens the store in `dir` and becomes its owner. A created directory has mode 0700. If `dir` is
  // relative, the working directory must stay the same.
  //   NotFound        the store does not exist, and create_if_missing is off. Nothing was created.
  //   AlreadyExists   the store exists, and error_if_exists is on.
  //   Locked          another process owns it, or this one was forked, without an exec, from a
  //                   process that had opened or read a store; the message names the pid.
  //   Corruption      damaged; the message names the file. Nothing was modified.
  //   NotSupported    written by another format version; a snapshot; a replica, which StoreOptions
  //                   must open as one. InvalidArgument: made inside a store.
  //   IOError         a file could not be used, or there is no memory or no thread. Such an opening
  //                   may lose the memory and descriptors that it took; the next may succeed.
  // Blocks: for recovery of the write-ahead log, seconds at most.
  static Status Open(const StoreOptions& options, const std::string& dir,
                     std::unique_ptr<Store>* store);

  // Opens a store without a directory: the same queues, which end with the process. Every
  // durability level is acknowledged at once.
  static Status OpenInMemory(const StoreOptions& options, std::unique_ptr<Store>* store);

  // Closes if Close was not called. REQUIRES: no call on the store or its queues is under way. (To
  // end blocked calls, call Close first.)
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Opens the queue of this name with everything that it held: pending keys in their order (those
  // that were processing first in their lane), delays, failure counts. A name is 1 to 64 of
  // [A-Za-z0-9._-].
  //   InvalidArgument  an invalid name or option.
  //   NotFound         the queue does not exist, and create_if_missing is off.
  //   AlreadyExists    this store has opened it already.
  //   NotDurable       the store is failed (see Health): no queue is opened until it has recovered.
  // Blocks: for reading the queue's records.
  Status OpenQueue(std::string_view name, const QueueOptions& options, Queue** queue);

  // Stops the queue (Queue::Stop: blocked calls return) and writes its changes, so that this store
  // can open it again. Its keys stay in the store: those that workers hold are handed out again
  // after the next opening. Later changing calls of `queue` return ShuttingDown, and its readings
  // show an empty queue: what it had is freed, and less than 1 KiB (more with metrics) stays until
  // the Store is destroyed. A queue of a store in memory loses its keys. Idempotent. NotDurable: a
  // write has failed; the queue is stopped, and not closed. Blocks: for one sync. REQUIRES: `queue`
  // is of this store.
  Status CloseQueue(Queue* queue);

  // Deletes the queue of this name with all that it has: keys in every state, cursors, pause. A
  // crash leaves either the whole queue or none of it. The rows are erased after the queue is gone;
  // if that is cut short by a crash or an error, the next DeleteQueue of any queue, or the next
  // import, erases the rest.
  //   InvalidArgument  an invalid name.
  //   NotFound         the queue does not exist.
  //   Locked           the queue is open; see CloseQueue.
  //   NotDurable       the store is failed (see Health), or a write failed: then the queue is
  //                    deleted or unchanged.
  // Blocks: for writes that survive a power cut, and for reading all rows of the queue; the
  // other calls of the store wait for it, those of its queues do not.
  Status DeleteQueue(std::string_view name);

  // Returns the open queue of this name; nullptr if it is not open. Works after Close too.
  Queue* FindQueue(std::string_view name) const;

  // Returns the names of all queues in the store, open or not, sorted.
  std::vector<std::string> QueueNames() const;

  // Makes everything that was done on any queue before this call as durable as asked for.
  // NotDurable: a write has failed. Blocks: for that write, if it needs one.
  Status Flush(Durability durability = Durability::kPower);

  // Returns Ok; or, from a failed write until the store has recovered, NotDurable with the first
  // failure, its time, the attempts to recover, and the time of the next attempt. After a failed
  // write the open queues go on in memory, each changing call returns NotDurable, and the disk
  // keeps a prefix. When the disk works again, the store is opened anew and what the disk lacks is
  // written from memory; then everything is durable again, including the changes of the failed
  // store. Attempts are made with backoff: see StoreOptions::recovery_backoff_min and on_health.
  Status Health() const;

  // Tries to recover a failed store at once; see Health. Ok: it is healthy. Blocks: for one
  // attempt. REQUIRES: not called from on_health.
  Status Recover();

  // Reserves the numbers from *first to *first + count - 1, which begin at 1: no call on this store
  // has reserved one of them or will, over restarts, crashes, power cuts and repairs; later calls
  // return greater ones. So a token from them fences the writes of an earlier holder. Another store
  // (a restored snapshot, a loaded dump) has its own numbers: a restored one goes on from those of
  // its snapshot, and may reserve numbers that the first store has reserved since.
  //   InvalidArgument  `count` is 0, or fewer numbers are left.
  //   NotDurable       the store is failed, or the write failed. The numbers are not used again.
  // Blocks: for a write that survives a power cut.
  Status ReserveTokens(uint64_t count, uint64_t* first);

  // Returns Ok if the store has a process log (StoreOptions::process_log_bytes), so that calls at
  // kProcess do not wait for a write. Otherwise why it has none; the store works without it.
  //   NotFound      process_log_bytes is 0, or the store is in memory.
  //   NotSupported  the file system is not one on which a process log is safe; names the file.
  //   IOError       the disk had no space for it, or another error when the store was opened.
  Status ProcessLogStatus() const;

  // Writes what is recorded, and reads the history of a key as ReadHistory (history.h) does.
  // NotSupported: the store keeps none (StoreOptions::history_bytes). NotOwner: it is a replica.
  Status History(std::string_view queue, std::string_view key, size_t limit,
                 KeyHistory* history) const;

  // Stops every queue (Queue::Stop: blocked calls return), makes everything durable and closes the
  // files, so that the next opening replays nothing. Later calls return ShuttingDown. Idempotent.
  // NotDurable: a write has failed, and so has a last attempt to recover the store. IOError: a file
  // could not be synced or closed.
  // Blocks: for one flush.
  Status Close();

  // --- Replication. Each returns at once in a store that is not replicated. ---

  // Whether this process owns the store now: always, unless the store is replicated. It may not be
  // true any more when the caller looks at it.
  bool IsOwner() const;
  // The epoch of the present ownership, a number that only grows from one ownership to the next:
  // reconcilers pass it to what they write to, to fence the writes of former owners. 0: this
  // process does not own the store. A store that is not replicated: 1.
  uint64_t Epoch() const;
  // Waits until this process owns the store. TimedOut; ShuttingDown after Close.
  Status WaitForLeadership(std::chrono::microseconds timeout = kMaxDelay);
  // Hands the ownership over to another replica, and goes on as a replica: closes the queues,
  // writes what is open to the log, and ends the lease, so that the next owner begins at once. It
  // becomes the owner again only if no other replica has by the time that a lease lasts.
  //   NotOwner    it did not own the store.
  //   NotDurable  the last changes could not be written to the log. The ownership has ended.
  // InvalidArgument: the store is not replicated. Blocks: for some requests to the log.
  Status Resign();
  // The state of this replica. In a store that is not replicated: that of an owner.
  ReplicaState Replica() const;

  // The store's uuid; of a replica that has not seen its store yet, empty.
  std::string uuid() const;
  const std::string& dir() const;  // Empty for a store in memory.

  struct Impl;

 private:
  explicit Store(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

// Makes the replica in `dir` a store of this machine only, with all that this replica has. Its log
// and the other replicas stay as they are: they are another store from now on.
//   InvalidArgument  the store is not replicated, or this replica is not complete yet.
//   NotFound, Locked, Corruption, NotSupported   as Store::Open.
// Blocks: for opening and closing the store.
Status DetachReplica(const std::string& dir);

}  // namespace wq

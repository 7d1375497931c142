// QueueWork: the sessions of one queue, and the handing out to them.
//
// Assign hands out keys while a session has a free place and the queue has keys; the sessions take
// turns, kTurn keys at a time. It is called after everything that can make that possible: an
// answer, a new session, a greater capacity, and when the queue reports keys (Queue::ListenReady,
// by the thread of WorkHub). One thread at a time assigns; another call during that makes it begin
// anew.
//
// Threading: thread-safe. Lifetime: shared by its sessions; borrows the queue and the tokens.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "server/work/session.h"
#include "server/work/token_source.h"
#include "wq/queue.h"

namespace wq {

class QueueWork {
 public:
  // Plans Session::CheckLimits.
  using Planner =
      std::function<void(Session::Clock::time_point when, const std::shared_ptr<Session>&)>;
  // `on_ready` is called when Assign may have something to do and the caller has no time for it:
  // the thread that has changed the queue. Thread-safe, short.
  QueueWork(Queue* queue, TokenSource* tokens, Planner plan, std::function<void()> on_ready);
  ~QueueWork();

  Queue* queue() const { return queue_; }
  // Outlives this object in its sessions.
  const std::shared_ptr<GiveBacks>& give_backs() const { return give_backs_; }

  void Add(const std::shared_ptr<Session>& session) WQ_EXCLUDES(mu_);
  // Returns whether no session is left.
  bool Remove(const std::shared_ptr<Session>& session) WQ_EXCLUDES(mu_);
  std::shared_ptr<const std::vector<std::shared_ptr<Session>>> sessions() const WQ_EXCLUDES(mu_);

  // Does not block, except for a new block of tokens.
  void Assign();
  // No more keys are assigned.
  void Stop() { stopped_ = true; }

 private:
  static constexpr size_t kTurn = 256;

  using Sessions = std::vector<std::shared_ptr<Session>>;

  void AssignOnce();
  // Returns how many keys were assigned. *dry: the queue has none for this session.
  size_t AssignTo(const std::shared_ptr<Session>& session, size_t places, bool* dry);
  void Ready();

  Queue* const queue_;
  TokenSource* const tokens_;
  const Planner plan_;
  const std::function<void()> on_ready_;
  const std::shared_ptr<GiveBacks> give_backs_ = std::make_shared<GiveBacks>();

  std::atomic<uint64_t> calls_{0};   // Of Assign, not yet served.
  std::atomic<bool> hungry_{false};  // A session has a free place, and the queue had no key for it.
  std::atomic<bool> stopped_{false};

  mutable Mutex mu_;
  std::shared_ptr<const Sessions> sessions_ WQ_GUARDED_BY(mu_);  // Replaced, never changed.
  size_t turn_ = 0;                                              // Of the assigning thread.

  std::unique_ptr<ReadyListener> listener_;  // Last: it calls Ready.
};

}  // namespace wq

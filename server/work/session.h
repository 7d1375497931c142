// Session: one worker, from its Hello to the end of its stream. It owns the worker's assignments:
// which keys the worker holds, and by which token.
//
// An assignment ends exactly once, by the thread that removes its token from held_: because it was
// answered, because its time was over, or because the session has ended. That thread then changes
// the queue, without a lock. So a key is never answered and given back both.
//
// The place of an assignment is free for the next one when the worker has answered it: also of an
// assignment that was taken from the worker, since the worker may still be at it.
//
//   state of a token   Answer                             EndOverdue, End
//   -----------------  ---------------------------------  ------------------------------
//   held               the queue's change, place free     taken from the worker
//   lost               refused, place free                -
//   another            refused                            -
//
// The key limit counts from the start of a key. A worker that holds keys ahead of its work tells
// the starts (WorkerTerms::tells_starts); a key that it does not start in time is given back.
//
// Locks: receive_mu_, then mu_. Under mu_ the queue is not called.
// Threading: thread-safe. Lifetime: shared; the queue outlives it. A crash: the keys are queued
// again, since the queue had not been told that they are done.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/api/method.h"
#include "server/work/give_backs.h"
#include "wq/queue.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/browse.pb.h"
#include "wq/v1/work.pb.h"

namespace wq {

// Bounds the keys that a worker holds, and the answers and questions of one message.
inline constexpr uint32_t kMaxCapacity = 100'000;

// What a worker asked for, checked.
struct WorkerTerms {
  std::string store_uuid;
  Status replicated;  // Ok, or why an answer at kReplicated is refused.
  std::string queue;
  std::string name;
  std::string peer;
  uint32_t capacity = 1;
  std::chrono::microseconds silence_limit{0};
  std::chrono::microseconds key_limit{0};  // 0: none.
  bool tells_starts = false;               // Otherwise a key starts when it is assigned.
};

class Session {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  // A key that TryGet has handed out, and its token.
  struct Assigned {
    uint64_t token = 0;
    uint64_t attempt = 1;
    HeldKey key;
  };

  // `shards` is null for a queue without shards. `queue` and `carrier` are borrowed; `carrier` is
  // called until Detach. `now` is for tests.
  Session(WorkerTerms terms, std::string id, Queue* queue, std::unique_ptr<Worker> shards,
          std::shared_ptr<GiveBacks> give_backs, StreamCarrier* carrier, Now now = &Clock::now);

  const std::string& id() const { return id_; }  // Secret.
  const WorkerTerms& terms() const { return terms_; }
  Queue* queue() const { return queue_; }

  // --- Assigning: called by one thread at a time ---

  // How many more keys the worker may hold.
  size_t FreePlaces() const WQ_EXCLUDES(mu_);
  // Hands out up to `limit` keys of this worker's shards, or of the queue. As Queue::TryGet.
  Status TryGet(size_t limit, std::vector<HeldKey>* keys) WQ_EXCLUDES(mu_);
  // Gives the keys to the worker. If the session has ended, gives them back to the queue. Returns
  // the time at which CheckLimits is to be called, if no call is planned yet.
  std::optional<Clock::time_point> Assign(std::vector<Assigned> keys) WQ_EXCLUDES(mu_);
  // The queue hands out nothing more: the session ends with `why` when no key is held.
  void EndWhenIdle(const Status& why) WQ_EXCLUDES(mu_);

  // --- The worker ---

  // Handles a message after the Hello. Blocks: as its answers' durability asks.
  Status Receive(const v1::WorkRequest& request) WQ_EXCLUDES(receive_mu_, mu_);
  // See Stream.
  bool WantsMore() const WQ_EXCLUDES(mu_);
  Stream::Next Take(v1::WorkResponse* response, Status* end) WQ_EXCLUDES(mu_);

  // --- Its end ---

  // Ends the stream with `why`, gives back the keys that are held, the newest first, and leaves the
  // shards. Does not wait for the carrier, which may be unable to write. The first call counts.
  // `died`: without a goodbye, so the keys that it has started, and the oldest, may be what it died
  // of.
  void End(const Status& why, bool died = false) WQ_EXCLUDES(mu_);
  // The carrier is not called after this has returned.
  void Detach() WQ_EXCLUDES(mu_);
  bool ended() const WQ_EXCLUDES(mu_);
  // Ends the session if the worker was silent for too long, and takes overdue keys from it: those
  // that it has started fail, the others are given back. Returns the time of the next call;
  // nullopt: the next Assign plans it.
  std::optional<Clock::time_point> CheckLimits(Clock::time_point now) WQ_EXCLUDES(mu_);

  size_t held() const WQ_EXCLUDES(mu_);

  // --- Readings for a page: session_reading.cc ---

  // *room: how many more bytes of keys there may be; decremented.
  void Describe(v1::Worker* worker, size_t* room) const WQ_EXCLUDES(mu_);
  // Sets the fields of the holder. False: the worker does not hold the key.
  bool DescribeHeld(std::string_view key, v1::GetKeyResponse* response) const WQ_EXCLUDES(mu_);

 private:
  struct Held {
    std::string key;
    uint64_t attempt = 1;
    bool started = false;
    Clock::time_point since;  // Its start; before that its assignment.
    int64_t since_us = 0;     // Wall time.
  };
  using HeldMap = std::map<uint64_t, Held>;  // By token, so the oldest assignment is first.

  std::shared_ptr<Worker> Shards() const WQ_EXCLUDES(mu_);
  bool EndAnswered(uint64_t token, Held* held, std::string* refusal) WQ_REQUIRES(mu_);
  Status Settle(const v1::Answer& answer, Durability durability, const Held& held,
                v1::AnswerResult* result) const;
  Status SettleFailed(const v1::Answer& answer, Durability durability, const Held& held,
                      v1::AnswerResult* result) const;
  // Ends the processing of a key after the change that its end needs, which has returned `change`:
  // by Done. If the change was refused, Done would lose the key, and it is given back. Returns the
  // first error.
  Status EndHeld(const std::string& key, const Status& change) const;
  Status GiveBack(const std::string& key, bool died = false) const;
  void Answer(const v1::WorkRequest& request) WQ_REQUIRES(receive_mu_) WQ_EXCLUDES(mu_);
  void Start(const v1::WorkRequest& request) WQ_EXCLUDES(mu_);
  void TellAddedAgain(const v1::WorkRequest& request) WQ_EXCLUDES(mu_);
  std::optional<Clock::time_point> NextLimit() const WQ_REQUIRES(mu_);
  // Settles the answer and sets its result. Returns how durable it has to be made.
  Durability SettleOne(const v1::Answer& answer, const Held& held, v1::AnswerResult* result) const;
  // Removes the first of limits_ from the worker.
  HeldMap::node_type TakeOverdue() WQ_REQUIRES(mu_);
  void EndOverdue(const HeldMap& overdue) const;
  void GiveBackAll(const HeldMap& held, bool died, bool takes_keys = false) const;
  void Wake() WQ_REQUIRES(mu_);

  const WorkerTerms terms_;
  const std::string id_;
  Queue* const queue_;
  const std::shared_ptr<GiveBacks> give_backs_;
  const int64_t connected_at_us_;
  const Now now_;

  Mutex receive_mu_;  // One message at a time.
  mutable Mutex mu_;
  StreamCarrier* carrier_ WQ_GUARDED_BY(mu_);  // Null after Detach.
  // Null after the end. TryGet uses a copy, without mu_.
  std::shared_ptr<Worker> shards_ WQ_GUARDED_BY(mu_);
  const bool has_shards_;
  uint32_t capacity_ WQ_GUARDED_BY(mu_);
  HeldMap held_ WQ_GUARDED_BY(mu_);
  // (since, token) of all that are held, if there is a key limit.
  std::set<std::pair<Clock::time_point, uint64_t>> limits_ WQ_GUARDED_BY(mu_);
  std::set<uint64_t> lost_ WQ_GUARDED_BY(mu_);  // Taken from the worker, and not answered yet.
  size_t settling_ WQ_GUARDED_BY(mu_) = 0;      // Answered, and the queue's change is under way.
  bool receiving_ WQ_GUARDED_BY(mu_) = false;   // A message is handled: the worker is not silent.
  Clock::time_point last_heard_ WQ_GUARDED_BY(mu_);
  int64_t last_heard_us_ WQ_GUARDED_BY(mu_);
  bool check_planned_ WQ_GUARDED_BY(mu_) = false;
  uint64_t done_ WQ_GUARDED_BY(mu_) = 0;
  uint64_t failed_ WQ_GUARDED_BY(mu_) = 0;
  std::optional<Status> end_ WQ_GUARDED_BY(mu_);
  std::optional<Status> end_when_idle_ WQ_GUARDED_BY(mu_);

  // To be sent.
  bool welcome_ WQ_GUARDED_BY(mu_) = true;
  std::deque<v1::Assignment> assignments_ WQ_GUARDED_BY(mu_);
  std::deque<v1::AnswerResult> results_ WQ_GUARDED_BY(mu_);
  std::deque<v1::AddedAgain> added_again_ WQ_GUARDED_BY(mu_);
  std::deque<v1::Lost> newly_lost_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq

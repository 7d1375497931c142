// LiveWorker: a worker in another process than the store's owner.
//
//   std::unique_ptr<wq::LiveWorker> worker;
//   wq::Status s = store->Work("pods", {.name = "web-1", .capacity = 8}, &worker);
//   wq::AssignedKey key;
//   while (s.ok() && worker->Get(&key).ok()) {
//     s = worker->Answer(key.token, reconcile(key.key) ? wq::WorkAnswer::Done()
//                                                      : wq::WorkAnswer::Failed("why"));
//   }
//
// The owner assigns keys, at most `capacity` at once; the worker answers each by its token. When
// the stream ends (the owner ends, Stop, the destructor), the owner gives the keys that were not
// answered back to the queue: each is queued again, first in its lane, and no failure is counted.
// The worker may then still be at work on such a key while another worker has it: it fences its
// writes by the token, which grows with every assignment. docs/server.md has the exact promise.
// While the worker holds keys, a thread of this object sends the owner a sign of life.
// Threading: thread-safe. Lifetime: may outlive the LiveStore. A crash: as the end of the stream.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "wq/options.h"
#include "wq/status.h"

namespace wq {

struct LiveWorkerOptions {
  // For `wqctl workers` and messages; at most 256 bytes. Default: empty.
  std::string name = {};
  // How many keys the worker holds at once, 1 to 100 000. Default: 1.
  uint32_t capacity = 1;
  // Creates the queue if it is missing, if the owner permits that. Default: off.
  bool create = false;
  // The owner takes all keys from a worker that it does not hear for this long; at least 1 s.
  // Default: 30 s.
  std::chrono::microseconds silence_limit{30'000'000};
  // The owner takes a key from the worker that is not answered this long after Get has returned it,
  // and counts a failure. One that Get has not returned this long after its assignment is given
  // back; nothing is counted. Default: 0, no limit.
  std::chrono::microseconds key_limit{0};
  // Called when TryGet may return something else than TimedOut, or a key was lost. By a thread of
  // the worker that holds no lock; must be short. Default: nullptr, no call.
  std::function<void()> on_ready = nullptr;
};

// A key that was assigned to this worker.
struct AssignedKey {
  std::string key;
  uint64_t token = 0;
  uint64_t attempt = 1;  // 1, plus the failures, plus how often it was given back since.
  uint64_t failures = 0;
  std::string last_error;
  Lane lane = kFastLane;
  std::string group;
  int64_t added_at_us = 0;  // When it became dirty; microseconds since 1970-01-01T00:00:00Z.
  Causes causes;            // Of the Adds since the hand-out before.
};

// What a worker says about a key. See wq/v1/work.proto.
struct WorkAnswer {
  enum class Kind : uint8_t { kDone, kFailed, kQuarantine, kRequeueAfter, kGiveBack };
  Kind kind = Kind::kDone;
  std::string error = {};              // kFailed, kQuarantine.
  std::chrono::microseconds delay{0};  // kRequeueAfter.

  static WorkAnswer Done() { return {}; }
  static WorkAnswer Failed(std::string why) { return {Kind::kFailed, std::move(why), {}}; }
  static WorkAnswer Quarantine(std::string why) { return {Kind::kQuarantine, std::move(why), {}}; }
  static WorkAnswer RequeueAfter(std::chrono::microseconds delay) {
    return {Kind::kRequeueAfter, {}, delay};
  }
  static WorkAnswer GiveBack() { return {Kind::kGiveBack, {}, {}}; }
};

// What became of a failed key.
struct AnswerOutcome {
  uint64_t failures = 0;
  bool quarantined = false;
};

class LiveWorker {
 public:
  ~LiveWorker();  // Stops.
  LiveWorker(const LiveWorker&) = delete;
  LiveWorker& operator=(const LiveWorker&) = delete;

  // Returns the next key that was assigned.
  //   ShuttingDown  after Stop, or the queue is shut down and empty.
  //   NotFound      the queue was deleted.
  //   TimedOut      the owner has not heard this worker for too long.
  //   IOError       the owner has ended, or the connection is broken.
  // Blocks: until a key is assigned, or the stream ends.
  Status Get(AssignedKey* key);
  // Never blocks. TimedOut: no key is assigned now, and ended() is false.
  Status TryGet(AssignedKey* key);

  // Answers for a key. NotProcessing: the token is old; nothing has changed. NotDurable: see
  // StatusCode. IOError: the stream has ended, or LimitWaits, and the effect is
  // unknown. Blocks: for the outcome.
  Status Answer(uint64_t token, const WorkAnswer& answer, AnswerOutcome* outcome = nullptr);
  // Answers without waiting for the outcome; answers are sent in the order of the calls.
  void AnswerLater(uint64_t token, const WorkAnswer& answer);

  // Whether the owner has taken the key from this worker. It still has to be answered, which frees
  // its place.
  bool Lost(uint64_t token) const;
  // Whether the key was added again since it was assigned. Blocks: for the outcome.
  Status AddedAgain(uint64_t token, bool* added_again);

  // 0: no more keys are assigned.
  void SetCapacity(uint32_t capacity);
  // Bounds how long Answer and AddedAgain wait, from this call, or from their own if that is later:
  // then they return IOError, and the effect is unknown. For a worker that is to end, beside an
  // owner that may not respond. Without it they wait until the stream ends.
  void LimitWaits(std::chrono::microseconds limit);
  // Ends the stream. Get returns what is left of the assigned keys no more. Idempotent.
  void Stop();
  bool ended() const;  // The stream has ended: see Get for why.

  struct Impl;

 private:
  explicit LiveWorker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq

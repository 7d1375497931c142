// KeySource: decides when the next command may begin, and with which key.
//
//   KeySource source(options);
//   QueueOptions queue_options{.on_ready = [&source] { source.Wake(); }};
//   source.AddQueue(queue);                  // Before the first Next.
//   while (source.Next(&job)) {              // On each worker's thread.
//     … run, Done …
//     source.End(job);
//   }
//
// Keys are taken from the queues in turn, and one thread at a time takes one. So sequence numbers
// follow the order in which keys are handed out, and a thread that waits for the rate or for room
// holds no key. Nothing polls: Wake, End and Stop end every wait.
// Thread-safe, except AddQueue. Lifetime: longer than the store that calls Wake.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "tools/wqctl/work/job.h"
#include "wq/queue.h"

namespace wqctl {

struct KeySourceOptions {
  int workers = 1;                              // Also the number of slots.
  std::chrono::microseconds start_interval{0};  // From one start to the next; 0: none.
  bool follow = false;                          // Not drained when no key is left.
};

class KeySource {
 public:
  explicit KeySource(const KeySourceOptions& options);
  KeySource(const KeySource&) = delete;
  KeySource& operator=(const KeySource&) = delete;

  void AddQueue(wq::Queue* queue);
  const std::vector<wq::Queue*>& queues() const { return queues_; }

  // Hands out a key. False: stopped, or drained: nothing is queued, processing or delayed.
  // Blocks: until one of these.
  bool Next(Job* job);
  // The job has ended; `job` may be queued again.
  void End(const Job& job);

  // The command of a job could not be started for lack of a resource. Lets fewer commands run at
  // once, and blocks until a retry makes sense: a job has ended, or some time has passed. False
  // when stopped.
  bool WaitForResources();

  // Next hands out nothing more. Returns the number of jobs that have not ended.
  int Stop();
  bool stopped() const;

  void Wake();  // A queue's on_ready.

 private:
  using Clock = std::chrono::steady_clock;

  bool WaitForRoom(uint64_t changes, bool* has_room) WQ_REQUIRES(turn_mu_);
  bool TakeKey(Job* job) WQ_REQUIRES(turn_mu_);
  bool WaitForKey(uint64_t changes);
  bool Drained() const;
  bool Admit(Job* job) WQ_REQUIRES(turn_mu_);
  int TakeSlot() WQ_REQUIRES(mu_);

  const KeySourceOptions options_;
  std::vector<wq::Queue*> queues_;

  wq::Mutex turn_mu_;  // Held by the thread that takes the next key; before mu_.
  size_t next_queue_ WQ_GUARDED_BY(turn_mu_) = 0;
  uint64_t last_sequence_ WQ_GUARDED_BY(turn_mu_) = 0;
  Clock::time_point next_start_ WQ_GUARDED_BY(turn_mu_) = Clock::time_point::min();

  mutable wq::Mutex mu_;
  wq::CondVar changed_;
  bool stopped_ WQ_GUARDED_BY(mu_) = false;
  uint64_t changes_ WQ_GUARDED_BY(mu_) = 0;  // Calls of Wake and End.
  std::vector<bool> slots_ WQ_GUARDED_BY(mu_);
  int busy_ WQ_GUARDED_BY(mu_) = 0;     // Jobs that have not ended.
  int waiting_ WQ_GUARDED_BY(mu_) = 0;  // Of those, the ones that wait for resources.
  int retries_ WQ_GUARDED_BY(mu_) = 0;  // Of those, the ones that End lets retry.
  // So many jobs may be busy: less than `workers` after a lack of resources, then one more each
  // second.
  int limit_ WQ_GUARDED_BY(mu_);
  Clock::time_point limit_changed_ WQ_GUARDED_BY(mu_);
};

}  // namespace wqctl

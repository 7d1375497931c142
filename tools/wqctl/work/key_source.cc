#include "tools/wqctl/work/key_source.h"

#include <algorithm>
#include <utility>

namespace wqctl {
namespace {

// A resource may also become free outside of this process.
constexpr auto kResourceRetry = std::chrono::milliseconds{200};
constexpr auto kLimitGrowth = std::chrono::seconds{1};
// While a run that ends by itself has nothing to do.
constexpr auto kDrainedCheck = std::chrono::milliseconds{100};
// Between two attempts to open the queues anew, at first and at most; and how long there are any
// after the store has last been found failed.
constexpr auto kFirstBackoff = std::chrono::milliseconds{10};
constexpr auto kLongestBackoff = std::chrono::milliseconds{500};
constexpr auto kReopenTime = std::chrono::seconds{60};
// Between two looks at a store that has failed.
constexpr auto kHealthCheck = std::chrono::milliseconds{200};

}  // namespace

KeySource::KeySource(const KeySourceOptions& options)
    : options_(options), limit_(options.workers), limit_changed_(Clock::now()) {}

void KeySource::SetQueues(WorkQueues queues) {  // NOLINT(performance-unnecessary-value-param)
  // The former queues end outside the lock: they wait for their callbacks, which call Wake.
  const wq::MutexLock lock(mu_);
  queues_.swap(queues);
}

WorkQueues KeySource::queues() const {
  const wq::MutexLock lock(mu_);
  return queues_;
}

void KeySource::Clear() {
  SetQueues({});
  const wq::MutexLock lock(mu_);
  stopped_ = false;
  error_ = {};
}

wq::Status KeySource::error() const {
  const wq::MutexLock lock(mu_);
  return error_;
}

bool KeySource::Next(Job* job) { return TakeTurn(job) && WaitForEarlierJob(*job); }

bool KeySource::TakeTurn(Job* job) {
  const wq::MutexLock turn(turn_mu_);
  if (TakeNext(job)) return true;
  for (const auto& queue : queues()) queue->Want(false);
  return false;
}

bool KeySource::TakeNext(Job* job) {
  while (true) {
    uint64_t changes = 0;
    {
      const wq::MutexLock lock(mu_);
      changes = changes_;
    }
    if (!WaitForRoom() || !AwaitStore()) return false;
    if (!options_.follow && Idle() && Drained()) {
      if (Health().code() != wq::StatusCode::kNotDurable) return false;
      NoteStoreFailed();
      continue;
    }
    wq::Status s = TakeKey(job);
    if (s.ok()) return Admit();
    if (s.code() == wq::StatusCode::kTimedOut) {
      if (!WaitForKey(changes)) return false;
    } else if (s.code() == wq::StatusCode::kNotDurable) {
      NoteStoreFailed();
    } else if (s.code() != wq::StatusCode::kShuttingDown) {
      return EndWith(std::move(s));
    } else if (!Reopen()) {
      return false;
    }
  }
}

bool KeySource::EndWith(wq::Status error) {
  const wq::MutexLock lock(mu_);
  error_ = std::move(error);
  return false;
}

// Waits for a store that has failed as AwaitStore does. False: stopped, or an error.
bool KeySource::Reopen() {
  SetQueues({});  // Their streams end.
  Clock::time_point give_up = options_.now() + kReopenTime;
  bool reported = false;
  for (auto backoff = kFirstBackoff;; backoff = std::min(backoff * 2, kLongestBackoff)) {
    WorkQueues queues;
    bool again = false;
    wq::Status s = options_.reopen(&queues, &again);
    if (s.ok()) {
      SetQueues(std::move(queues));
      if (reported) options_.on_health(s);
      return true;
    }
    if (stopped()) return false;
    if (s.code() == wq::StatusCode::kNotDurable) {
      if (!std::exchange(reported, true)) options_.on_health(s);
      give_up = options_.now() + kReopenTime;  // Until then others may try, and have its lock.
    } else if (!again || options_.now() >= give_up) {
      return EndWith(std::move(s));
    }
    if (!WaitUnlessStopped(backoff)) return false;
  }
}

// Waits until one more command may run. False: stopped.
bool KeySource::WaitForRoom() {
  const wq::MutexLock lock(mu_);
  while (!stopped_ && busy_ >= limit_) changed_.Wait(mu_);
  return !stopped_;
}

// TimedOut: no queue has a key now. Another status: as WorkQueue::TryGet.
wq::Status KeySource::TakeKey(Job* job) {
  const WorkQueues queues = this->queues();
  for (const auto& queue : queues) queue->Want(true);
  static_cast<TakenKey&>(*job) = {};  // Of the job before.
  for (size_t i = 0; i < queues.size(); ++i) {
    next_queue_ %= queues.size();
    const auto& queue = queues[next_queue_++];
    wq::Status s = queue->TryGet(job);
    if (s.code() == wq::StatusCode::kTimedOut) continue;
    if (!s.ok()) return s;
    job->queue = queue;
    for (const auto& other : queues) other->Want(false);
    return s;
  }
  return wq::Status::TimedOut("no key");
}

// False: stopped.
bool KeySource::WaitForKey(uint64_t changes) {
  const Clock::time_point next_check = Clock::now() + kDrainedCheck;
  const wq::MutexLock lock(mu_);
  while (!stopped_ && changes_ == changes) {
    if (options_.follow || busy_ > 0) {
      changed_.Wait(mu_);
    } else if (!changed_.WaitUntil(mu_, next_check)) {
      return true;
    }
  }
  return !stopped_;
}

bool KeySource::Idle() const {
  const wq::MutexLock lock(mu_);
  return busy_ == 0;
}

bool KeySource::Drained() const {
  const WorkQueues queues = this->queues();
  return std::all_of(queues.begin(), queues.end(), [](const auto& queue) {
    wq::QueueCounts counts;
    // After an error the next TryGet reports the end of the queue.
    return queue->Counts(&counts).ok() &&
           (counts.paused ? 0 : counts.queued + counts.delayed) + counts.processing == 0;
  });
}

// NotDurable: the store has failed. Any other status: it has not, or cannot be asked; then the next
// TryGet reports the end of the queue.
wq::Status KeySource::Health() const {
  const WorkQueues queues = this->queues();
  // All are of one store.
  return queues.empty() ? wq::Status::Ok() : queues.front()->Health();
}

void KeySource::NoteStoreFailed() {
  const wq::MutexLock lock(mu_);
  store_failed_ = true;
}

// Waits until the store has not failed. False: stopped.
bool KeySource::AwaitStore() {
  {
    const wq::MutexLock lock(mu_);
    if (!store_failed_) return true;
    store_failed_ = false;
  }
  bool reported = false;
  while (true) {
    wq::Status health = Health();
    const bool failed = health.code() == wq::StatusCode::kNotDurable;
    if (reported != failed) options_.on_health(health);
    if (!failed) return true;
    reported = true;
    if (!WaitUnlessStopped(kHealthCheck)) return false;
  }
}

bool KeySource::WaitUnlessStopped(std::chrono::milliseconds time) {
  const Clock::time_point end = Clock::now() + time;
  const wq::MutexLock lock(mu_);
  while (!stopped_ && Clock::now() < end) changed_.WaitUntil(mu_, end);
  return !stopped_;
}

// False when stopped: the caller ends without Done, so the key stays pending.
bool KeySource::Admit() {
  const wq::MutexLock lock(mu_);
  if (stopped_) return false;
  ++busy_;
  return true;
}

// Waits until no earlier job of the key runs. False: stopped; the job has ended.
bool KeySource::WaitForEarlierJob(const Job& job) {
  {
    const wq::MutexLock lock(mu_);
    while (true) {
      if (running_.emplace(job.queue->name(), job.key).second) return true;
      if (stopped_) break;
      changed_.Wait(mu_);
    }
  }
  EndJob();
  return false;
}

void KeySource::End(const Job& job) {
  {
    const wq::MutexLock lock(mu_);
    running_.erase({job.queue->name(), job.key});
  }
  EndJob();
}

void KeySource::EndJob() {
  const wq::MutexLock lock(mu_);
  --busy_;
  ++changes_;
  retries_ = std::min(retries_ + 1, waiting_);
  const Clock::time_point now = Clock::now();
  if (limit_ < options_.workers && now - limit_changed_ >= kLimitGrowth) {
    ++limit_;
    limit_changed_ = now;
  }
  changed_.NotifyAll();
}

bool KeySource::WaitForResources() {
  const Clock::time_point now = Clock::now();
  const wq::MutexLock lock(mu_);
  ++waiting_;
  limit_ = std::clamp(busy_ - waiting_, 1, limit_);
  limit_changed_ = now;
  while (!stopped_ && retries_ == 0 && Clock::now() < now + kResourceRetry) {
    changed_.WaitUntil(mu_, now + kResourceRetry);
  }
  --waiting_;
  retries_ = std::max(retries_ - 1, 0);
  return !stopped_;
}

int KeySource::Stop() {
  const WorkQueues queues = this->queues();
  int busy = 0;
  {
    const wq::MutexLock lock(mu_);
    stopped_ = true;
    changed_.NotifyAll();
    busy = busy_;
  }
  for (const auto& queue : queues) {
    queue->Want(false);
    queue->EndSoon();
  }
  return busy;
}

bool KeySource::stopped() const {
  const wq::MutexLock lock(mu_);
  return stopped_;
}

void KeySource::Wake() {
  const wq::MutexLock lock(mu_);
  ++changes_;
  changed_.NotifyAll();
}

}  // namespace wqctl

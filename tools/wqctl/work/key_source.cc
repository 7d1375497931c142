#include "tools/wqctl/work/key_source.h"

#include <algorithm>

namespace wqctl {
namespace {

// A resource may also become free outside of this process.
constexpr auto kResourceRetry = std::chrono::milliseconds{200};
constexpr auto kLimitGrowth = std::chrono::seconds{1};

}  // namespace

KeySource::KeySource(const KeySourceOptions& options)
    : options_(options),
      slots_(static_cast<size_t>(options.workers)),
      limit_(options.workers),
      limit_changed_(Clock::now()) {}

void KeySource::AddQueue(wq::Queue* queue) { queues_.push_back(queue); }

bool KeySource::Next(Job* job) {
  const wq::MutexLock turn(turn_mu_);
  while (true) {
    uint64_t changes = 0;
    {
      const wq::MutexLock lock(mu_);
      changes = changes_;
    }
    if (!options_.follow && Drained()) return false;
    bool has_room = false;
    if (!WaitForRoom(changes, &has_room)) return false;
    if (!has_room) continue;
    if (TakeKey(job)) return Admit(job);
    if (!WaitForKey(changes)) return false;
  }
}

// Waits until one more command may run, and until the rate allows its start. *has_room is false if
// there was a change before that: the last key may be done. False: stopped.
bool KeySource::WaitForRoom(uint64_t changes, bool* has_room) {
  const wq::MutexLock lock(mu_);
  while (!stopped_) {
    if (busy_ >= limit_) {
      changed_.Wait(mu_);
      continue;
    }
    *has_room = Clock::now() >= next_start_;
    if (*has_room || changes_ != changes) return true;
    changed_.WaitUntil(mu_, next_start_);
  }
  return false;
}

// False: no queue has a key now.
bool KeySource::TakeKey(Job* job) {
  for (size_t i = 0; i < queues_.size(); ++i) {
    wq::Queue* const queue = queues_[next_queue_];
    next_queue_ = (next_queue_ + 1) % queues_.size();
    if (!queue->GetFor(std::chrono::microseconds{0}, &job->key).ok()) continue;
    job->queue = queue;
    return true;
  }
  return false;
}

// False: stopped.
bool KeySource::WaitForKey(uint64_t changes) {
  const wq::MutexLock lock(mu_);
  while (!stopped_ && changes_ == changes) changed_.Wait(mu_);
  return !stopped_;
}

bool KeySource::Drained() const {
  return std::all_of(queues_.begin(), queues_.end(), [](const wq::Queue* queue) {
    const wq::QueueCounts counts = queue->Counts();
    return counts.queued + counts.processing + counts.delayed == 0;
  });
}

// False when stopped: the caller ends without Done, so the key stays pending.
bool KeySource::Admit(Job* job) {
  job->queue_name = job->queue->name();
  job->attempt = job->queue->NumRequeues(job->key) + 1;
  next_start_ = std::max(next_start_, Clock::now()) + options_.start_interval;
  const wq::MutexLock lock(mu_);
  if (stopped_) return false;
  job->sequence = ++last_sequence_;
  job->slot = TakeSlot();
  ++busy_;
  return true;
}

// The smallest slot that is free.
int KeySource::TakeSlot() {
  const auto slot = std::find(slots_.begin(), slots_.end(), false);
  *slot = true;
  return static_cast<int>(slot - slots_.begin()) + 1;
}

void KeySource::End(const Job& job) {
  const wq::MutexLock lock(mu_);
  slots_[static_cast<size_t>(job.slot) - 1] = false;
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
  const wq::MutexLock lock(mu_);
  stopped_ = true;
  changed_.NotifyAll();
  return busy_;
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

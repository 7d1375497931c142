#include "tools/wqctl/work/work_queue.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/mutex.h"
#include "wq/internal/queue_calls.h"
#include "wq/live_worker.h"

namespace wqctl {
namespace {

// How long a run that ends waits for the owner to acknowledge an outcome.
constexpr auto kLastAnswers = std::chrono::seconds(5);

class LocalQueue final : public WorkQueue {
 public:
  LocalQueue(wq::Queue* queue, LocalQueueOptions options)
      : WorkQueue(queue->name(), std::move(options.observer)),
        queue_(*queue),
        no_requeues_(options.max_requeues == 0U),
        take_token_(std::move(options.take_token)),
        health_(std::move(options.health)),
        listener_(queue->ListenReady(std::move(options.on_ready))) {}

  void Want(bool /*wanted*/) override {}

  wq::Status TryGet(TakenKey* key) override {
    wq::Status s = queue_.GetFor(std::chrono::microseconds{0}, &key->key);
    if (s.code() == wq::StatusCode::kNotOwner) return s;
    if (!s.ok()) return wq::Status::TimedOut(s.message());
    key->failures = queue_.NumRequeues(key->key);
    // It is processing, so it is found.
    static_cast<void>(queue_.CausesOf(key->key, &key->causes));
    if (s = take_token_(&key->token); s.code() == wq::StatusCode::kNotDurable) {
      static_cast<void>(queue_.PutBack(key->key));  // It is held, so it is found.
    }
    return s;
  }

  wq::Status Counts(wq::QueueCounts* counts) const override {
    *counts = queue_.Counts();
    return {};
  }

  wq::Status Health() const override { return health_(); }

  wq::Status Succeed(const TakenKey& key) override {
    wq::Status s = queue_.Forget(key.key);
    return IsApplied(s) ? End(key, s) : s;
  }

  wq::Status Fail(const TakenKey& key, const std::string& error, FailedKey* failed) override {
    wq::AddOutcome outcome = wq::AddOutcome::kAdded;
    wq::Status s = queue_.AddRateLimited(key.key, error, {}, &outcome);
    // Cancels the delay. After a kill before this call, the key's next failure quarantines it.
    if (IsApplied(s) && no_requeues_) s = queue_.Quarantine(key.key);
    if (!IsApplied(s)) return s;
    failed->quarantined = outcome == wq::AddOutcome::kHeld || no_requeues_;
    failed->failures = queue_.NumRequeues(key.key);
    return End(key, s);
  }

 private:
  // Returns the error of Done, or else `recorded`.
  wq::Status End(const TakenKey& key, const wq::Status& recorded) {
    wq::Status s = queue_.Done(key.key);
    return s.ok() ? recorded : s;
  }

  wq::Queue& queue_;
  const bool no_requeues_;
  const TokenTaker take_token_;
  const std::function<wq::Status()> health_;
  const std::unique_ptr<wq::ReadyListener> listener_;
};

// The capacity of the stream is the number of keys in process here, and one more while a key is
// wanted. So the owner never assigns a key that would wait here for room.
class RemoteQueue final : public WorkQueue {
 public:
  RemoteQueue(std::shared_ptr<const wq::LiveStore> store, RemoteQueueOptions options)
      : WorkQueue(options.name), options_(std::move(options)), store_(std::move(store)) {}

  ~RemoteQueue() override {
    if (worker_ != nullptr) worker_->Stop();  // After this OnReady is not called.
  }
  RemoteQueue(const RemoteQueue&) = delete;
  RemoteQueue& operator=(const RemoteQueue&) = delete;

  wq::Status Open() {
    std::unique_ptr<wq::LiveWorker> worker;
    wq::Status s = store_->Work(options_.name,
                                {.name = "wqctl work, process " + std::to_string(getpid()),
                                 .capacity = 1,
                                 .create = options_.create,
                                 .on_ready = [this] { OnReady(); }},
                                &worker);
    const wq::MutexLock lock(mu_);
    worker_ = std::move(worker);
    return s;
  }

  void Want(bool wanted) override {
    const wq::MutexLock lock(mu_);
    if (std::exchange(wanted_, wanted) == wanted) return;
    SetCapacity();
    if (!wanted) GiveBackRest();
  }

  void EndSoon() override {
    const wq::MutexLock lock(mu_);
    ending_ = true;
    worker_->LimitWaits(kLastAnswers);
  }

  wq::Status TryGet(TakenKey* key) override {
    const wq::MutexLock lock(mu_);
    wq::AssignedKey assigned;
    if (wq::Status s = worker_->TryGet(&assigned); !s.ok()) {
      return worker_->ended() ? wq::Status::ShuttingDown(s.message()) : s;
    }
    ++running_;
    *key = {std::move(assigned.key), assigned.token, assigned.failures, std::move(assigned.causes)};
    return {};
  }

  wq::Status Counts(wq::QueueCounts* counts) const override {
    {
      const wq::MutexLock lock(mu_);
      if (given_up_) return wq::Status::IOError("the owner of the store does not respond");
    }
    wq::LiveInfo info;
    if (wq::Status s = store_->Read(&info); !s.ok()) return s;
    const auto queue = std::find_if(info.queues.begin(), info.queues.end(),
                                    [this](const auto& read) { return read.name == name(); });
    if (queue == info.queues.end()) return wq::Status::NotFound("the queue was deleted");
    *counts = queue->counts;
    return {};
  }

  wq::Status Health() const override {
    wq::LiveInfo info;
    wq::Status s = store_->Read(&info);
    return s.ok() ? info.health : s;
  }

  wq::Status Succeed(const TakenKey& key) override {
    return Answer(key, wq::WorkAnswer::Done(), nullptr);
  }

  wq::Status Fail(const TakenKey& key, const std::string& error, FailedKey* failed) override {
    const bool last = options_.max_requeues && key.failures >= *options_.max_requeues;
    wq::AnswerOutcome outcome;
    wq::Status s = Answer(
        key, last ? wq::WorkAnswer::Quarantine(error) : wq::WorkAnswer::Failed(error), &outcome);
    *failed = {outcome.failures, outcome.quarantined};
    return s;
  }

 private:
  void OnReady() {
    {
      const wq::MutexLock lock(mu_);
      if (!wanted_ && worker_ != nullptr) GiveBackRest();
    }
    options_.on_ready();
  }

  void SetCapacity() WQ_REQUIRES(mu_) { worker_->SetCapacity(running_ + (wanted_ ? 1U : 0U)); }

  // Keys that were assigned while the capacity was being reduced.
  void GiveBackRest() WQ_REQUIRES(mu_) {
    wq::AssignedKey key;
    while (worker_->TryGet(&key).ok()) {
      worker_->AnswerLater(key.token, wq::WorkAnswer::GiveBack());
    }
  }

  wq::Status Answer(const TakenKey& key, const wq::WorkAnswer& answer, wq::AnswerOutcome* outcome) {
    wq::LiveWorker* worker = nullptr;
    {
      const wq::MutexLock lock(mu_);
      --running_;
      SetCapacity();  // Before the answer, which frees a place.
      worker = worker_.get();
    }
    wq::Status s = worker->Answer(key.token, answer, outcome);
    if (IsApplied(s)) return s;
    const wq::MutexLock lock(mu_);
    given_up_ = given_up_ || (ending_ && s.code() == wq::StatusCode::kIOError);
    return given_up_ || worker->ended() ? wq::Status::NotProcessing(s.message()) : s;
  }

  const RemoteQueueOptions options_;
  const std::shared_ptr<const wq::LiveStore> store_;
  mutable wq::Mutex mu_;
  bool wanted_ WQ_GUARDED_BY(mu_) = true;
  bool ending_ WQ_GUARDED_BY(mu_) = false;
  bool given_up_ WQ_GUARDED_BY(mu_) = false;                   // The owner does not respond.
  uint32_t running_ WQ_GUARDED_BY(mu_) = 0;                    // Taken and not recorded.
  std::unique_ptr<wq::LiveWorker> worker_ WQ_GUARDED_BY(mu_);  // Last: it calls OnReady.
};

}  // namespace

std::shared_ptr<WorkQueue> MakeLocalQueue(wq::Queue* queue, LocalQueueOptions options) {
  return std::make_shared<LocalQueue>(queue, std::move(options));
}

wq::Status OpenRemoteQueue(std::shared_ptr<const wq::LiveStore> store,
                           const RemoteQueueOptions& options, std::shared_ptr<WorkQueue>* queue) {
  auto made = std::make_shared<RemoteQueue>(std::move(store), options);
  wq::Status s = made->Open();
  if (s.ok()) *queue = std::move(made);
  return s;
}

}  // namespace wqctl

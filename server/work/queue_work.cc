#include "server/work/queue_work.h"

#include <algorithm>
#include <utility>

namespace wq {

QueueWork::QueueWork(Queue* queue, TokenSource* tokens, Planner plan,
                     std::function<void()> on_ready)
    : queue_(queue),
      tokens_(tokens),
      plan_(std::move(plan)),
      on_ready_(std::move(on_ready)),
      sessions_(std::make_shared<const Sessions>()),
      listener_(queue->ListenReady([this] { Ready(); })) {}

QueueWork::~QueueWork() { listener_.reset(); }

void QueueWork::Add(const std::shared_ptr<Session>& session) {
  const MutexLock lock(mu_);
  auto sessions = std::make_shared<Sessions>(*sessions_);
  sessions->push_back(session);
  sessions_ = std::move(sessions);
}

bool QueueWork::Remove(const std::shared_ptr<Session>& session) {
  const MutexLock lock(mu_);
  auto sessions = std::make_shared<Sessions>(*sessions_);
  std::erase(*sessions, session);
  sessions_ = std::move(sessions);
  return sessions_->empty();
}

std::shared_ptr<const QueueWork::Sessions> QueueWork::sessions() const {
  const MutexLock lock(mu_);
  return sessions_;
}

// Called by the thread that has changed the queue.
void QueueWork::Ready() {
  if (hungry_.exchange(false)) {
    on_ready_();
  }
}

void QueueWork::Assign() {
  if (calls_.fetch_add(1) > 0) {
    return;  // The thread that assigns begins anew.
  }
  uint64_t served = 0;
  do {
    served = calls_.load();
    AssignOnce();
  } while (!calls_.compare_exchange_strong(served, 0));
}

void QueueWork::AssignOnce() {
  const std::shared_ptr<const Sessions> sessions = this->sessions();
  // Before the queue is asked: a key that becomes ready after that is reported.
  hungry_ = true;
  bool hungry = false;
  // Until each session in turn was assigned nothing.
  for (size_t idle = 0; idle < sessions->size() && !stopped_;) {
    const std::shared_ptr<Session>& session = (*sessions)[turn_++ % sessions->size()];
    const size_t places = std::min(session->FreePlaces(), kTurn);
    bool dry = false;
    const size_t assigned = places == 0 ? 0 : AssignTo(session, places, &dry);
    hungry = hungry || assigned < places;
    if (dry && queue_->shards() == 0) {
      break;  // For all others as well.
    }
    idle = assigned > 0 ? 0 : idle + 1;
  }
  if (!hungry) {
    hungry_ = false;
  }
}

size_t QueueWork::AssignTo(const std::shared_ptr<Session>& session, size_t places, bool* dry) {
  const uint64_t epoch = tokens_->Epoch();  // Before TryGet: that of the queue if it has keys.
  std::vector<HeldKey> keys;
  if (Status s = session->TryGet(places, &keys); !s.ok()) {
    if (s.code() == StatusCode::kShuttingDown) {
      session->EndWhenIdle(s);
    } else if (s.code() == StatusCode::kNotOwner) {
      session->End(s);  // Another process has the keys: no answer for one would be taken.
    }
    *dry = s.code() == StatusCode::kTimedOut;
    return 0;
  }
  uint64_t token = 0;
  if (Status s = tokens_->Take(epoch, keys.size(), &token); !s.ok()) {
    std::for_each(keys.rbegin(), keys.rend(),
                  [this](const HeldKey& key) { static_cast<void>(queue_->PutBack(key.key)); });
    session->End(s);
    return 0;
  }
  if (!session->terms().name.empty()) {
    queue_->NoteWorker(keys, session->terms().name);
  }
  std::vector<Session::Assigned> assigned;
  assigned.reserve(keys.size());
  for (HeldKey& key : keys) {
    const uint64_t attempt = 1 + key.failures + give_backs_->Of(key.key);
    assigned.push_back({.token = token++, .attempt = attempt, .key = std::move(key)});
  }
  if (const auto when = session->Assign(std::move(assigned)); when.has_value()) {
    plan_(*when, session);
  }
  return keys.size();
}

}  // namespace wq

#include "server/service/watcher.h"

#include <google/protobuf/util/message_differencer.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "server/api/convert.h"
#include "wq/keys.h"

namespace wq {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

// Whether the counters differ in more than the time until the next delay is due.
bool Differ(v1::QueueCounts a, v1::QueueCounts b) {
  a.clear_next_due_us();
  b.clear_next_due_us();
  return !google::protobuf::util::MessageDifferencer::Equals(a, b);
}

}  // namespace

Stream::Next Watcher::Watch::Take(v1::QueueCounts* response, Status* end) {
  const MutexLock lock(mu_);
  if (std::exchange(unsent_, false)) {
    *response = counts_;
    return Stream::Next::kMessage;
  }
  if (end_.has_value()) {
    *end = *end_;
    return Stream::Next::kEnd;
  }
  return Stream::Next::kNothing;
}

void Watcher::Watch::Check() {
  if (!is_open_()) {
    End(Status::NotFound("queue '" + EscapeKey(queue_->name()) + "' is deleted"));
    return;
  }
  v1::QueueCounts counts;
  ToCounts(queue_->Counts(), queue_->IsShuttingDown(), &counts);
  const MutexLock lock(mu_);
  if (!std::exchange(checked_, true) || Differ(counts, counts_)) {
    counts_ = std::move(counts);
    unsent_ = true;
    Wake();
  }
}

void Watcher::Watch::End(const Status& why) {
  const MutexLock lock(mu_);
  if (!end_.has_value()) {
    end_ = why;
    Wake();
  }
}

void Watcher::Watch::Detach() {
  const MutexLock lock(mu_);
  carrier_ = nullptr;
}

void Watcher::Watch::Wake() {
  if (carrier_ != nullptr) {
    carrier_->Wake();
  }
}

Watcher::~Watcher() { Close(); }

Status Watcher::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return {};
}

void Watcher::Add(const std::shared_ptr<Watch>& watch) {
  watch->Check();
  const MutexLock lock(mu_);
  watches_.push_back(watch);
  if (closing_) {
    watch->End(ServerCloses());
  }
  changed_.NotifyAll();
}

void Watcher::Remove(const std::shared_ptr<Watch>& watch) {
  watch->Detach();
  const MutexLock lock(mu_);
  watches_.remove(watch);
}

void Watcher::Close() {
  {
    const MutexLock lock(mu_);
    closing_ = true;
    for (const std::shared_ptr<Watch>& watch : watches_) {
      watch->End(ServerCloses());
    }
    changed_.NotifyAll();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

// Counts fires delays, which may wait for the disk: no lock is held.
void Watcher::Run() {
  for (;;) {
    std::list<std::shared_ptr<Watch>> watches;
    {
      const MutexLock lock(mu_);
      while (!closing_ && watches_.empty()) {
        changed_.Wait(mu_);
      }
      const auto next = std::chrono::steady_clock::now() + kInterval;
      while (!closing_ && std::chrono::steady_clock::now() < next) {
        changed_.WaitUntil(mu_, next);
      }
      if (closing_) {
        return;
      }
      watches = watches_;
    }
    for (const std::shared_ptr<Watch>& watch : watches) {
      watch->Check();
    }
  }
}

}  // namespace wq

#include "server/page/events.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "server/http/http_api.h"

namespace wq {
namespace {

// The time goes on in every reading.
void ClearTime(v1::GetOverviewResponse* overview) {
  overview->clear_now_us();
  for (v1::GetOverviewResponse::Queue& queue : *overview->mutable_queues()) {
    queue.mutable_counts()->clear_next_due_us();
  }
}

}  // namespace

// A listener while its answer exists.
class Events::ListenerStream final : public HttpStream {
 public:
  ListenerStream(Events* events, std::list<Listener>::iterator listener,
                 std::function<bool()> may_go_on)
      : events_(events), listener_(listener), may_go_on_(std::move(may_go_on)) {}
  ~ListenerStream() override { events_->Remove(listener_); }

  Next Take(std::string* bytes) override {
    if (!std::exchange(begun_, true)) {
      *bytes = "retry: 1000\n\n";
      return Next::kMore;
    }
    if (!events_->Take(&*listener_, bytes)) {
      return Next::kEnd;
    }
    if (bytes->empty()) {
      return Next::kNothing;
    }
    if (!may_go_on_() && !WQ_MUTANT(stream_outlives_session)) {
      bytes->clear();
      return Next::kEnd;
    }
    return Next::kMore;
  }

 private:
  Events* const events_;
  const std::list<Listener>::iterator listener_;
  const std::function<bool()> may_go_on_;
  bool begun_ = false;
};

Events::Events(Options options)
    : options_(std::move(options)), thread_(options_.clock, [this] { return Work(); }) {}

Events::~Events() { Close(); }

Status Events::Start() { return thread_.Start(); }

HttpReply Events::Listen(const std::string& queue, std::function<bool()> may_go_on,
                         std::function<void()> wake) {
  std::list<Listener>::iterator listener;
  {
    const MutexLock lock(mu_);
    if (closing_ || listeners_.size() >= options_.max_listeners) {
      return RefusedReply(503, closing_ ? "the server closes" : "too many pages are open");
    }
    if (listeners_.empty()) {
      commented_at_us_ = options_.clock->SteadyUs();
    }
    Topic* const topic = &topics_[queue];
    ++topic->listeners;
    listeners_.push_front(Listener{queue, topic, std::move(wake), 0, comments_});
    listener = listeners_.begin();
  }
  thread_.Wake();
  const auto stream = std::make_shared<ListenerStream>(this, listener, std::move(may_go_on));
  return {
      .type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}, .stream = stream};
}

bool Events::Take(Listener* listener, std::string* bytes) {
  std::shared_ptr<const std::string> event;
  bytes->clear();
  {
    const MutexLock lock(mu_);
    if (closing_) {
      return false;
    }
    if (listener->topic->version > listener->seen) {
      listener->seen = listener->topic->version;
      event = listener->topic->event;
    } else if (comments_ > listener->comments) {
      *bytes = ":\n\n";
    }
    listener->comments = comments_;
  }
  if (event != nullptr) {
    *bytes = *event;
  }
  return true;
}

void Events::Remove(std::list<Listener>::iterator listener) {
  const MutexLock lock(mu_);
  if (--listener->topic->listeners == 0) {
    topics_.erase(listener->queue);
  }
  listeners_.erase(listener);
}

void Events::WakeListeners(const Topic* topic) {
  for (const Listener& listener : listeners_) {
    if (topic == nullptr || listener.topic == topic) {
      listener.wake();
    }
  }
}

// An overview is read under no lock: it may wait for the disk.
std::optional<int64_t> Events::Work() {
  const int64_t now_us = options_.clock->SteadyUs();
  std::vector<std::string> due;
  {
    const MutexLock lock(mu_);
    for (const auto& [queue, topic] : topics_) {
      if (topic.event == nullptr || now_us - topic.read_at_us >= kIntervalUs) {
        due.push_back(queue);
      }
    }
    if (now_us - commented_at_us_ >= kCommentUs && !listeners_.empty()) {
      commented_at_us_ = now_us;
      ++comments_;
      WakeListeners(nullptr);
    }
  }
  for (const std::string& queue : due) {
    Read(queue, now_us);
  }
  const MutexLock lock(mu_);
  std::optional<int64_t> next_us;
  for (const auto& [queue, topic] : topics_) {
    const int64_t at_us = topic.event == nullptr ? now_us : topic.read_at_us + kIntervalUs;
    next_us = next_us ? std::min(*next_us, at_us) : at_us;
  }
  return next_us;
}

void Events::Read(const std::string& queue, int64_t now_us) {
  v1::GetOverviewResponse overview;
  options_.overview(queue, &overview);
  std::string json;
  if (Status s = AppendJson(overview, &json); !s.ok()) {
    json = "{}\n";
  }
  ClearTime(&overview);
  const MutexLock lock(mu_);
  ++readings_;
  const auto found = topics_.find(queue);
  if (found == topics_.end()) {
    return;  // The last listener has gone.
  }
  Topic& topic = found->second;
  topic.read_at_us = now_us;
  if (topic.event != nullptr &&
      google::protobuf::util::MessageDifferencer::Equals(overview, topic.last)) {
    return;
  }
  topic.last = std::move(overview);
  topic.event = std::make_shared<const std::string>("event: overview\ndata: " + json + "\n");
  ++topic.version;
  WakeListeners(&topic);
}

void Events::Close() {
  {
    const MutexLock lock(mu_);
    closing_ = true;
    WakeListeners(nullptr);
  }
  thread_.Close();
}

size_t Events::listeners() const {
  const MutexLock lock(mu_);
  return listeners_.size();
}

uint64_t Events::readings() const {
  const MutexLock lock(mu_);
  return readings_;
}

}  // namespace wq

#include "wq/live_worker.h"

#include <algorithm>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "server/api/convert.h"
#include "server/client/live_worker_impl.h"
#include "server/rpc/rpc_status.h"

namespace wq {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long Stop waits for the owner to take the last answers.
constexpr auto kStopTime = std::chrono::seconds(5);
constexpr auto kOpenTime = std::chrono::seconds(30);
// With errors of kMaxErrorBytes, such a message is shorter than what the owner accepts.
constexpr int kMaxAnswersOfMessage = 1000;

Status Stopped() { return Status::ShuttingDown("the worker was stopped"); }

void SetAnswer(uint64_t token, const WorkAnswer& answer, v1::Answer* message) {
  message->set_token(token);
  switch (answer.kind) {
    case WorkAnswer::Kind::kDone:
      message->mutable_done();
      return;
    case WorkAnswer::Kind::kFailed:
    case WorkAnswer::Kind::kQuarantine:
      message->mutable_failed()->set_error(
          ToUtf8(std::string_view(answer.error).substr(0, kMaxErrorBytes)));
      message->mutable_failed()->set_quarantine(answer.kind == WorkAnswer::Kind::kQuarantine);
      return;
    case WorkAnswer::Kind::kRequeueAfter:
      message->mutable_requeue_after()->set_delay_us(answer.delay.count());
      return;
    case WorkAnswer::Kind::kGiveBack:
      message->mutable_give_back();
      return;
  }
}

AssignedKey FromAssignment(v1::Assignment* message) {
  return {.key = std::move(*message->mutable_key()),
          .token = message->token(),
          .attempt = message->attempt(),
          .failures = message->failures(),
          .last_error = std::move(*message->mutable_last_error()),
          .lane = message->lane(),
          .group = std::move(*message->mutable_group()),
          .added_at_us = message->added_at_us(),
          .causes = FromCauses(*message)};
}

}  // namespace

// --- The beginning and the end ---

Status LiveWorker::Impl::Open(std::shared_ptr<const Connection> connection, std::string_view queue,
                              const LiveWorkerOptions& options,
                              std::unique_ptr<LiveWorker>* worker) {
  worker->reset();
  auto impl = std::make_unique<Impl>(std::move(connection), options);
  if (Status s = impl->Begin(queue); !s.ok()) {
    return s;
  }
  worker->reset(new LiveWorker(std::move(impl)));
  return {};
}

Status LiveWorker::Impl::Begin(std::string_view queue) {
  std::shared_ptr<grpc::Channel> channel;
  if (Status s = connection->Channel(&channel); !s.ok()) {
    return s;
  }
  Connection::AddPid(&context);
  stub = v1::Work::NewStub(channel);
  stream = stub->Work(&context);
  {
    const MutexLock lock(mu);
    v1::Hello* const hello = Unsent()->mutable_hello();
    hello->set_queue(std::string(queue));
    hello->set_name(options.name);
    hello->set_capacity(options.capacity);
    hello->set_create(options.create);
    hello->set_silence_limit_us(options.silence_limit.count());
    hello->set_key_limit_us(options.key_limit.count());
    hello->set_tells_starts(true);
  }
  try {
    writer = std::thread([this] { Write(); });
    reader = std::thread([this] { Read(); });
  } catch (const std::system_error& e) {
    const MutexLock lock(mu);
    reading_ended = true;
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  const auto deadline = SteadyClock::now() + kOpenTime;
  const MutexLock lock(mu);
  while (!welcomed && !end.has_value()) {
    if (!changed.WaitUntil(mu, deadline)) {
      return Status::IOError("the process that owns the store does not respond");
    }
  }
  return welcomed ? Status::Ok() : *end;
}

void LiveWorker::Impl::Stop() {
  bool in_time = true;
  {
    const MutexLock lock(mu);
    if (!stopping) {
      GiveBackAll();
    }
    stopping = true;
    changed.NotifyAll();
    const auto deadline = SteadyClock::now() + kStopTime;
    while (reader.joinable() && !end.has_value() && in_time) {
      in_time = changed.WaitUntil(mu, deadline);
    }
  }
  if (!in_time || !reader.joinable()) {
    context.TryCancel();
  }
  for (std::thread* const thread : {&reader, &writer}) {
    if (thread->joinable()) {
      thread->join();
    }
  }
}

// A worker that ends says so: otherwise its keys would be taken for what it died of. The newest
// first, so that each is then the first of its lane.
void LiveWorker::Impl::GiveBackAll() {
  std::vector<uint64_t> tokens;
  for (const auto& [token, lost] : held) {
    tokens.push_back(token);
  }
  std::sort(tokens.begin(), tokens.end(), std::greater<>());
  Unsent()->set_capacity(0);
  for (const uint64_t token : tokens) {
    v1::Answer* const answer = Unsent()->add_answers();
    answer->set_token(token);
    answer->mutable_give_back();
  }
}

// --- The threads ---

void LiveWorker::Impl::Read() {
  v1::WorkResponse response;
  while (stream->Read(&response)) {
    Handle(&response);
  }
  {
    const MutexLock lock(mu);
    reading_ended = true;
    changed.NotifyAll();
    while (!writing_ended) {  // Finish must be the stream's last call.
      changed.Wait(mu);
    }
  }
  const Status status = connection->FromGrpc(stream->Finish(), context);
  {
    const MutexLock lock(mu);
    end = status.ok() ? Stopped() : status;
    changed.NotifyAll();
  }
  NotifyReady();
}

void LiveWorker::Impl::Write() {
  v1::WorkRequest request;
  bool sent = true;
  while (sent && NextMessage(&request)) {
    sent = stream->Write(request);
  }
  if (sent) {
    stream->WritesDone();
  }
  const MutexLock lock(mu);
  writing_ended = true;
  changed.NotifyAll();
}

bool LiveWorker::Impl::NextMessage(v1::WorkRequest* request) {
  const MutexLock lock(mu);
  const auto sent_at = SteadyClock::now();
  while (unsent.empty() && !stopping && !reading_ended) {
    if (held.empty() || silence_limit.count() == 0) {
      changed.Wait(mu);
    } else if (const auto next = sent_at + silence_limit / 3; SteadyClock::now() >= next) {
      break;  // An empty message.
    } else {
      changed.WaitUntil(mu, next);
    }
  }
  if (reading_ended || (stopping && unsent.empty())) {
    return false;
  }
  request->Clear();
  if (!unsent.empty()) {
    request->Swap(&unsent.front());
    unsent.pop_front();
  }
  return true;
}

void LiveWorker::Impl::Handle(v1::WorkResponse* response) {
  bool ready = false;
  {
    const MutexLock lock(mu);
    if (response->has_welcome()) {
      welcomed = true;
      silence_limit = std::chrono::microseconds(response->welcome().silence_limit_us());
    }
    for (v1::Assignment& assignment : *response->mutable_assignments()) {
      held.emplace(assignment.token(), false);
      assigned.push_back(FromAssignment(&assignment));
      ready = true;
    }
    for (const v1::AnswerResult& result : response->results()) {
      if (const auto it = answers.find(result.token()); it != answers.end()) {
        it->second->answered = true;
        it->second->status = result.has_error() ? FromError(result.error()) : Status::Ok();
        it->second->outcome = {.failures = result.failures(), .quarantined = result.quarantined()};
        answers.erase(it);
      }
    }
    for (const v1::AddedAgain& reply : response->added_again()) {
      if (const auto it = questions.find(reply.token()); it != questions.end()) {
        it->second->answered = true;
        it->second->added_again = reply.added_again();
        questions.erase(it);
      }
    }
    for (const v1::Lost& lost : response->lost()) {
      if (const auto it = held.find(lost.token()); it != held.end()) {
        it->second = true;
        ready = true;
      }
    }
    if (response->lost_size() > 0) {
      DropLost();
    }
    changed.NotifyAll();
  }
  if (ready) {
    NotifyReady();
  }
}

// Keys that were lost before they were taken are not handed out; the answer frees their places.
void LiveWorker::Impl::DropLost() {
  const auto rest = std::stable_partition(assigned.begin(), assigned.end(),
                                          [this](const AssignedKey& key)
                                              WQ_REQUIRES(mu) { return !held.at(key.token); });
  for (auto key = rest; key != assigned.end(); ++key) {
    Enqueue(key->token, WorkAnswer::GiveBack());
  }
  assigned.erase(rest, assigned.end());
}

// --- The calls ---

Status LiveWorker::Impl::Take(bool wait, AssignedKey* key) {
  const MutexLock lock(mu);
  while (wait && assigned.empty() && !end.has_value() && !stopping) {
    changed.Wait(mu);
  }
  if (stopping) {
    return Stopped();
  }
  if (!assigned.empty() && !end.has_value()) {
    *key = std::move(assigned.front());
    assigned.pop_front();
    Unsent()->add_started(key->token);
    changed.NotifyAll();
    return {};
  }
  return end.has_value() ? *end : Status::TimedOut("no key is assigned");
}

v1::WorkRequest* LiveWorker::Impl::Unsent() {
  if (unsent.empty() || unsent.back().answers_size() >= kMaxAnswersOfMessage) {
    unsent.emplace_back();
  }
  return &unsent.back();
}

void LiveWorker::Impl::Enqueue(uint64_t token, const WorkAnswer& answer) {
  SetAnswer(token, answer, Unsent()->add_answers());
  held.erase(token);
  changed.NotifyAll();
}

Status LiveWorker::Impl::Wait(Waiter* waiter) {
  const auto began = SteadyClock::now();
  while (!waiter->answered && !end.has_value()) {
    if (!wait_limit.has_value()) {
      changed.Wait(mu);
      continue;
    }
    const auto deadline = std::max(began, limited_at) + *wait_limit;
    if (SteadyClock::now() >= deadline) {
      return Status::IOError("the outcome is unknown: the owner of the store does not respond");
    }
    changed.WaitUntil(mu, deadline);
  }
  return waiter->answered
             ? waiter->status
             : Status::IOError("the outcome is unknown: the stream has ended: " + end->message());
}

LiveWorker::LiveWorker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveWorker::~LiveWorker() = default;

Status LiveWorker::Get(AssignedKey* key) { return impl_->Take(true, key); }
Status LiveWorker::TryGet(AssignedKey* key) { return impl_->Take(false, key); }

Status LiveWorker::Answer(uint64_t token, const WorkAnswer& answer, AnswerOutcome* outcome) {
  Impl::Waiter waiter;
  const MutexLock lock(impl_->mu);
  if (impl_->end.has_value()) {
    return Status::NotProcessing("the stream has ended, and its keys were given back: " +
                                 impl_->end->message());
  }
  impl_->answers[token] = &waiter;
  impl_->Enqueue(token, answer);
  Status s = impl_->Wait(&waiter);
  impl_->answers.erase(token);
  if (outcome != nullptr) {
    *outcome = waiter.outcome;
  }
  return s;
}

void LiveWorker::AnswerLater(uint64_t token, const WorkAnswer& answer) {
  const MutexLock lock(impl_->mu);
  impl_->Enqueue(token, answer);
}

bool LiveWorker::Lost(uint64_t token) const {
  const MutexLock lock(impl_->mu);
  const auto it = impl_->held.find(token);
  return impl_->end.has_value() || it == impl_->held.end() || it->second;
}

Status LiveWorker::AddedAgain(uint64_t token, bool* added_again) {
  Impl::Waiter waiter;
  const MutexLock lock(impl_->mu);
  if (impl_->end.has_value()) {
    return Status::NotProcessing("the stream has ended: " + impl_->end->message());
  }
  const auto question = impl_->questions.emplace(token, &waiter);
  impl_->Unsent()->add_added_again(token);
  impl_->changed.NotifyAll();
  Status s = impl_->Wait(&waiter);
  if (!waiter.answered) {
    impl_->questions.erase(question);
  }
  *added_again = waiter.added_again;
  return s;
}

void LiveWorker::SetCapacity(uint32_t capacity) {
  const MutexLock lock(impl_->mu);
  impl_->Unsent()->set_capacity(capacity);
  impl_->changed.NotifyAll();
}

void LiveWorker::LimitWaits(std::chrono::microseconds limit) {
  const MutexLock lock(impl_->mu);
  impl_->wait_limit = limit;
  impl_->limited_at = SteadyClock::now();
  impl_->changed.NotifyAll();
}

void LiveWorker::Stop() { impl_->Stop(); }

bool LiveWorker::ended() const {
  const MutexLock lock(impl_->mu);
  return impl_->end.has_value();
}

}  // namespace wq

#include "server/work/session.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/limits.h"
#include "base/mutant.h"
#include "server/api/convert.h"
#include "wq/clock.h"
#include "wq/internal/queue_calls.h"
#include "wq/keys.h"

namespace wq {
namespace {

// A response has about this many bytes at most, so that no carrier refuses it.
constexpr size_t kMaxResponseBytes = size_t{256} << 10;
constexpr size_t kFieldBytes = 64;  // Of the numbers of an assignment or a result.
// A client that does not read its results is not read either.
constexpr size_t kMaxUnsentResults = 10'000;

int64_t WallUs() { return Clock::System()->WallUs(); }

Status Refused(uint64_t token) {
  return Status::NotProcessing("token " + std::to_string(token) +
                               " is not of a key that this worker holds");
}

Status CheckRequest(const v1::WorkRequest& request) {
  if (request.has_hello()) {
    return Status::InvalidArgument("hello is for the first message only");
  }
  if (request.answers_size() > int{kMaxCapacity} ||
      request.added_again_size() > int{kMaxCapacity} ||
      request.started_size() > int{kMaxCapacity}) {
    return Status::InvalidArgument("a message has more than " + std::to_string(kMaxCapacity) +
                                   " answers, questions or starts");
  }
  if (request.capacity() > kMaxCapacity) {
    return Status::InvalidArgument("the capacity is " + std::to_string(request.capacity()) +
                                   ", not 0 to " + std::to_string(kMaxCapacity));
  }
  return {};
}

std::string Seconds(std::chrono::microseconds time) {
  return NumberText(static_cast<double>(time.count()) / 1e6) + " s";
}

// Moves messages from `from` to `to` until *room bytes are used.
template <typename Message, typename Size>
void MoveSome(std::deque<Message>* from, google::protobuf::RepeatedPtrField<Message>* to,
              size_t* room, const Size& size) {
  while (!from->empty() && *room > 0) {
    *room -= std::min(*room, size(from->front()));
    to->Add(std::move(from->front()));
    from->pop_front();
  }
}

}  // namespace

Session::Session(WorkerTerms terms, std::string id, Queue* queue, std::unique_ptr<Worker> shards,
                 std::shared_ptr<GiveBacks> give_backs, StreamCarrier* carrier, Now now)
    : terms_(std::move(terms)),
      id_(std::move(id)),
      queue_(queue),
      give_backs_(std::move(give_backs)),
      connected_at_us_(WallUs()),
      now_(now),
      carrier_(carrier),
      shards_(std::move(shards)),
      has_shards_(shards_ != nullptr),
      capacity_(terms_.capacity),
      last_heard_(now_()),
      last_heard_us_(connected_at_us_) {}

// --- Assigning ---

size_t Session::FreePlaces() const {
  const MutexLock lock(mu_);
  const size_t used = held_.size() + lost_.size() + settling_;
  return end_.has_value() || end_when_idle_.has_value() || used >= capacity_ ? 0 : capacity_ - used;
}

Status Session::TryGet(size_t limit, std::vector<HeldKey>* keys) {
  if (!has_shards_) {
    return queue_->TryGet(limit, keys);
  }
  const std::shared_ptr<Worker> shards = Shards();
  return shards == nullptr ? Status::TimedOut("the session has ended")
                           : shards->TryGet(limit, keys);
}

std::shared_ptr<Worker> Session::Shards() const {
  const MutexLock lock(mu_);
  return shards_;
}

std::optional<Session::Clock::time_point> Session::Assign(std::vector<Assigned> keys) {
  const Clock::time_point now = now_();
  const int64_t now_us = WallUs();
  {
    const MutexLock lock(mu_);
    if (!end_.has_value()) {
      if (held_.empty()) {
        last_heard_ = now;  // It had no reason to send before.
      }
      for (Assigned& assigned : keys) {
        v1::Assignment& message = assignments_.emplace_back();
        message.set_token(assigned.token);
        message.set_attempt(assigned.attempt);
        message.set_failures(assigned.key.failures);
        message.set_last_error(ToUtf8(assigned.key.last_error));
        message.set_lane(assigned.key.lane);
        message.set_group(std::move(assigned.key.group));
        message.set_added_at_us(assigned.key.added_at_us);
        ToCauses(assigned.key.causes, &message);
        message.set_key(assigned.key.key);
        held_.emplace_hint(held_.end(), assigned.token,
                           Held{.key = std::move(assigned.key.key),
                                .attempt = assigned.attempt,
                                .started = !terms_.tells_starts,
                                .since = now,
                                .since_us = now_us});
        if (terms_.key_limit.count() > 0) {
          limits_.emplace(now, assigned.token);
        }
      }
      Wake();
      return std::exchange(check_planned_, true) ? std::nullopt : NextLimit();
    }
  }
  HeldMap unwanted;
  for (Assigned& assigned : keys) {
    unwanted[assigned.token].key = std::move(assigned.key.key);
  }
  GiveBackAll(unwanted, /*died=*/false);
  return std::nullopt;
}

void Session::EndWhenIdle(const Status& why) {
  const MutexLock lock(mu_);
  if (!end_when_idle_.has_value()) {
    end_when_idle_ = why;
    Wake();
  }
}

// --- The worker ---

Status Session::Receive(const v1::WorkRequest& request) {
  if (Status s = CheckRequest(request); !s.ok()) {
    return s;
  }
  const MutexLock turn(receive_mu_);
  {
    const MutexLock lock(mu_);
    if (end_.has_value()) {
      return *end_;
    }
    receiving_ = true;
    last_heard_us_ = WallUs();
    if (request.has_capacity()) {
      capacity_ = request.capacity();
    }
  }
  if (request.started_size() > 0) {
    Start(request);
  }
  if (request.answers_size() > 0) {
    Answer(request);
  }
  if (request.added_again_size() > 0) {
    TellAddedAgain(request);
  }
  const MutexLock lock(mu_);
  receiving_ = false;
  last_heard_ = now_();
  return {};
}

void Session::Start(const v1::WorkRequest& request) {
  const Clock::time_point now = now_();
  std::vector<std::string> keys;
  {
    const MutexLock lock(mu_);
    for (const uint64_t token : request.started()) {
      const auto it = held_.find(token);
      if (it == held_.end() || it->second.started) {
        continue;
      }
      Held& held = it->second;
      if (limits_.erase({held.since, token}) > 0) {
        limits_.emplace(now, token);
      }
      held.started = true;
      held.since = now;
      keys.push_back(held.key);
    }
  }
  NoteStarted(queue_, keys);
}

// Ends the assignment of the token for an answer. False: there is none to settle; *refusal says why
// if the token is not this worker's.
bool Session::EndAnswered(uint64_t token, Held* held, std::string* refusal) {
  const auto it = held_.find(token);
  if (it == held_.end()) {
    *refusal = Refused(token).message();
    lost_.erase(token);
    return false;
  }
  *held = it->second;
  limits_.erase({held->since, token});
  if (!WQ_MUTANT(old_token_accepted)) {
    held_.erase(it);
  }
  ++settling_;
  return true;
}

void Session::Answer(const v1::WorkRequest& request) {
  struct Answered {
    Held held;
    std::string refusal;
    bool settles = false;
    v1::AnswerResult result;
  };
  std::vector<Answered> answered(static_cast<size_t>(request.answers_size()));
  {
    const MutexLock lock(mu_);
    for (size_t i = 0; i < answered.size(); ++i) {
      answered[i].settles = EndAnswered(request.answers(static_cast<int>(i)).token(),
                                        &answered[i].held, &answered[i].refusal);
    }
  }
  Durability flush = Durability::kAsync;
  const auto settle = [&](size_t i) {
    Answered& one = answered[i];
    const v1::Answer& answer = request.answers(static_cast<int>(i));
    one.result.set_token(answer.token());
    if (one.settles) {
      flush = std::max(flush, SettleOne(answer, one.held, &one.result));
    } else {
      ToError(Status::NotProcessing(one.refusal), one.result.mutable_error());
    }
  };
  std::map<uint64_t, std::vector<size_t>, std::greater<>> given_back;  // By token.
  for (size_t i = 0; i < answered.size(); ++i) {
    if (const v1::Answer& answer = request.answers(static_cast<int>(i)); answer.has_give_back()) {
      given_back[answer.token()].push_back(i);
    } else {
      settle(i);
    }
  }
  // The newest first: then they are in their order, at the front of their lane.
  for (const auto& [_, indexes] : given_back) {
    std::for_each(indexes.begin(), indexes.end(), settle);
  }
  if (flush > Durability::kAsync) {
    if (Status s = queue_->Flush(flush); !s.ok()) {
      for (Answered& one : answered) {
        if (!one.result.has_error()) {
          ToError(s, one.result.mutable_error());
        }
      }
    }
  }
  const MutexLock lock(mu_);
  for (size_t i = 0; i < answered.size(); ++i) {
    settling_ -= answered[i].settles ? 1 : 0;
    if (!answered[i].result.has_error()) {
      const v1::Answer& answer = request.answers(static_cast<int>(i));
      failed_ += answer.has_failed() ? 1 : 0;
      done_ += answer.has_failed() || answer.has_give_back() ? 0 : 1;
    }
    results_.push_back(std::move(answered[i].result));
  }
  Wake();
}

// The changes are made at kAsync where they are to survive a power cut or the loss of the machine:
// one Flush serves all answers of a message.
Durability Session::SettleOne(const v1::Answer& answer, const Held& held,
                              v1::AnswerResult* result) const {
  std::optional<Durability> asked;
  Status s = FromDurability(answer.durability(), &asked);
  Durability wanted = asked.value_or(Durability::kAsync);
  if (s.ok() && (answer.has_failed() || answer.has_requeue_after())) {
    wanted = asked.value_or(queue_->durability());
  }
  if (s.ok() && wanted == Durability::kReplicated) {
    s = terms_.replicated;
  }
  if (s.ok()) {
    s = Settle(answer, wanted >= Durability::kPower ? Durability::kAsync : wanted, held, result);
  } else {
    static_cast<void>(GiveBack(held.key));
  }
  if (!s.ok()) {
    ToError(s, result->mutable_error());
    return Durability::kAsync;
  }
  // A delay or a failure at kProcess has waited already; the removal of a key that is done has not.
  const bool waited = wanted == Durability::kProcess && !answer.has_done();
  return waited ? Durability::kAsync : wanted;
}

// Makes the change that the answer asks for, and ends the processing of the key. NotDurable: both
// are done. Another error: the key was given back, or the queue is closed and the store has it.
Status Session::Settle(const v1::Answer& answer, Durability durability, const Held& held,
                       v1::AnswerResult* result) const {
  Status s;
  switch (answer.result_case()) {
    case v1::Answer::kDone:
      s = queue_->Forget(held.key);
      break;
    case v1::Answer::kFailed:
      s = SettleFailed(answer, durability, held, result);
      break;
    case v1::Answer::kRequeueAfter:
      s = queue_->AddAfter(held.key, std::chrono::microseconds(answer.requeue_after().delay_us()),
                           {.durability = durability});
      if (IsApplied(s)) {
        const Status forgotten = queue_->Forget(held.key);
        s = s.ok() || !IsApplied(forgotten) ? forgotten : s;
      }
      break;
    case v1::Answer::kGiveBack:
      return GiveBack(held.key);
    case v1::Answer::RESULT_NOT_SET:
      static_cast<void>(GiveBack(held.key));
      return Status::InvalidArgument("the answer for token " + std::to_string(answer.token()) +
                                     " has no result: the key is given back");
  }
  return EndHeld(held.key, s);
}

Status Session::EndHeld(const std::string& key, const Status& change) const {
  if (!IsApplied(change)) {
    static_cast<void>(GiveBack(key));
    return change;
  }
  give_backs_->Clear(key);
  const Status done = queue_->Done(key);
  return change.ok() ? done : change;
}

Status Session::GiveBack(const std::string& key, bool died) const {
  give_backs_->Count(key);  // Before another worker gets it.
  if (!died) {
    return queue_->PutBack(key);
  }
  bool failed = false;
  Status s = PutBackDead(queue_, key, &failed);
  if (failed) {  // Then the failure is what is counted.
    give_backs_->Clear(key);
  }
  return s;
}

Status Session::SettleFailed(const v1::Answer& answer, Durability durability, const Held& held,
                             v1::AnswerResult* result) const {
  AddOutcome outcome = AddOutcome::kAdded;
  Status s = queue_->AddRateLimited(held.key, answer.failed().error(), {.durability = durability},
                                    &outcome);
  if (IsApplied(s) && answer.failed().quarantine()) {
    s = queue_->Quarantine(held.key);
    outcome = AddOutcome::kHeld;
  }
  result->set_failures(queue_->NumRequeues(held.key));
  result->set_quarantined(outcome == AddOutcome::kHeld);
  return s;
}

void Session::TellAddedAgain(const v1::WorkRequest& request) {
  std::vector<std::pair<uint64_t, std::optional<std::string>>> asked;
  {
    const MutexLock lock(mu_);
    for (const uint64_t token : request.added_again()) {
      const auto it = held_.find(token);
      asked.emplace_back(
          token, it == held_.end() ? std::nullopt : std::optional<std::string>(it->second.key));
    }
  }
  std::deque<v1::AddedAgain> answers;
  for (const auto& [token, key] : asked) {
    v1::AddedAgain& message = answers.emplace_back();
    message.set_token(token);
    message.set_held(key.has_value());
    message.set_added_again(key.has_value() && queue_->AddedAgain(*key));
  }
  const MutexLock lock(mu_);
  std::move(answers.begin(), answers.end(), std::back_inserter(added_again_));
  Wake();
}

bool Session::WantsMore() const {
  const MutexLock lock(mu_);
  return results_.size() + added_again_.size() < kMaxUnsentResults;
}

Stream::Next Session::Take(v1::WorkResponse* response, Status* end) {
  const MutexLock lock(mu_);
  size_t room = kMaxResponseBytes;
  const auto small = [](const auto&) { return kFieldBytes; };
  if (std::exchange(welcome_, false)) {
    response->mutable_welcome()->set_session(id_);
    response->mutable_welcome()->set_silence_limit_us(terms_.silence_limit.count());
    response->mutable_welcome()->set_store_uuid(terms_.store_uuid);
    room -= kFieldBytes;
  }
  MoveSome(&results_, response->mutable_results(), &room, [](const v1::AnswerResult& result) {
    return kFieldBytes + result.error().message().size();
  });
  MoveSome(&assignments_, response->mutable_assignments(), &room, [](const v1::Assignment& one) {
    return kFieldBytes + one.key().size() + one.group().size() + one.last_error().size();
  });
  MoveSome(&added_again_, response->mutable_added_again(), &room, small);
  MoveSome(&newly_lost_, response->mutable_lost(), &room, small);
  if (room < kMaxResponseBytes) {
    return Stream::Next::kMessage;
  }
  if (end_.has_value()) {
    *end = *end_;
    return Stream::Next::kEnd;
  }
  if (end_when_idle_.has_value() && held_.empty() && settling_ == 0) {
    *end = *end_when_idle_;
    return Stream::Next::kEnd;
  }
  return Stream::Next::kNothing;
}

// --- Its end ---

void Session::End(const Status& why, bool died) {
  HeldMap held;
  bool takes_keys = false;
  std::shared_ptr<Worker> shards;  // Left after the keys are given back.
  {
    const MutexLock lock(mu_);
    if (end_.has_value()) {
      return;
    }
    end_ = why;
    takes_keys = capacity_ > 0;
    held.swap(held_);
    limits_.clear();
    shards.swap(shards_);
    assignments_.clear();
    Wake();
  }
  if (!WQ_MUTANT(give_back_forgotten)) {
    GiveBackAll(held, died, takes_keys);
  }
}

void Session::Detach() {
  const MutexLock lock(mu_);
  carrier_ = nullptr;
}

bool Session::ended() const {
  const MutexLock lock(mu_);
  return end_.has_value();
}

// They keep the order of their hand-outs. So the newest is the first to come back to the front, and
// the last to come back behind others.
void Session::GiveBackAll(const HeldMap& held, bool died, bool takes_keys) const {
  // A worker begins its keys in this order, and has not told its start if it died at once. One that
  // takes no more keys begins none.
  const auto begun = [&held, takes_keys](const Held& one) {
    return one.started || (takes_keys && &one == &held.begin()->second);
  };
  std::vector<const Held*> front;
  std::vector<const Held*> behind;
  for (const auto& [_, one] : held) {
    (died && begun(one) && DiedBefore(queue_, one.key) ? behind : front).push_back(&one);
  }
  std::reverse(front.begin(), front.end());
  for (const auto* const keys : {&front, &behind}) {
    for (const Held* const one : *keys) {
      // NotProcessing or ShuttingDown: the queue was closed, and has the key in the store.
      static_cast<void>(GiveBack(one->key, died && begun(*one)));
    }
  }
}

std::optional<Session::Clock::time_point> Session::NextLimit() const {
  if (held_.empty()) {
    return std::nullopt;
  }
  const Clock::time_point silent = last_heard_ + terms_.silence_limit;
  return limits_.empty() ? silent : std::min(silent, limits_.begin()->first + terms_.key_limit);
}

Session::HeldMap::node_type Session::TakeOverdue() {
  const uint64_t token = limits_.extract(limits_.begin()).value().second;
  HeldMap::node_type held = held_.extract(token);
  lost_.insert(token);
  v1::Lost& message = newly_lost_.emplace_back();
  message.set_token(token);
  message.set_reason((held.mapped().started ? "not answered within " : "not started within ") +
                     Seconds(terms_.key_limit));
  return held;
}

std::optional<Session::Clock::time_point> Session::CheckLimits(Clock::time_point now) {
  HeldMap overdue;
  std::optional<Clock::time_point> next;
  bool silent = false;
  {
    const MutexLock lock(mu_);
    if (receiving_) {
      last_heard_ = now;  // It waits for us.
    }
    silent =
        !WQ_MUTANT(silence_ignored) && !held_.empty() && last_heard_ + terms_.silence_limit <= now;
    while (!silent && !limits_.empty() && limits_.begin()->first + terms_.key_limit <= now) {
      overdue.insert(TakeOverdue());
    }
    if (!overdue.empty()) {
      Wake();
    }
    next = NextLimit();
    check_planned_ = next.has_value();
  }
  if (silent) {
    End(Status::TimedOut("worker '" + EscapeKey(terms_.name) + "' sent nothing for " +
                         Seconds(terms_.silence_limit)),
        /*died=*/true);
    return std::nullopt;
  }
  EndOverdue(overdue);
  return next;
}

// In an order as in GiveBackAll. The queue reports its errors by Store::Health; a key stays in the
// store in any case.
void Session::EndOverdue(const HeldMap& overdue) const {
  std::for_each(overdue.rbegin(), overdue.rend(), [this](const auto& one) {
    if (!one.second.started) {
      static_cast<void>(queue_->PutBack(one.second.key));  // No attempt: it is not counted.
    }
  });
  for (const auto& [_, held] : overdue) {
    if (held.started) {
      static_cast<void>(
          EndHeld(held.key,
                  queue_->AddRateLimited(held.key,
                                         "worker '" + EscapeKey(terms_.name) +
                                             "' did not answer within " + Seconds(terms_.key_limit),
                                         {.durability = Durability::kAsync})));
    }
  }
}

size_t Session::held() const {
  const MutexLock lock(mu_);
  return held_.size() + settling_;
}

void Session::Wake() {
  if (carrier_ != nullptr) {
    carrier_->Wake();
  }
}

}  // namespace wq

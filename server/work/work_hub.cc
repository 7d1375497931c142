#include "server/work/work_hub.h"

#include <absl/strings/escaping.h>
#include <sys/random.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "wq/keys.h"
#include "wq/options.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

constexpr size_t kMaxNameBytes = 256;
// Bounds the keys of a List, which clients receive as one message.
constexpr size_t kMaxListedBytes = size_t{1} << 20;
constexpr std::chrono::microseconds kMaxLimit = std::chrono::hours(24);
constexpr auto kMinSilence = std::chrono::seconds(1);

// 128 bits that no other process can guess, in hexadecimal.
std::string NewSessionId() {
  std::string bytes(16, '\0');
  WQ_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
           "no random bytes");
  return absl::BytesToHexString(bytes);
}

}  // namespace

// The stream of one worker: the Hello makes its session.
class WorkHub::WorkStream final : public Stream {
 public:
  WorkStream(WorkHub* hub, Caller caller, StreamCarrier* carrier)
      : hub_(hub), caller_(std::move(caller)), carrier_(carrier) {}

  Status Receive(const Message& message) override {
    const auto& request = static_cast<const v1::WorkRequest&>(message);
    if (std::shared_ptr<Session> session = Current(); session != nullptr) {
      Status s = session->Receive(request);
      if (!s.ok()) {
        Refuse(s);
      }
      hub_->Assign(session);
      return s;
    }
    if (!request.has_hello()) {
      return Status::InvalidArgument("the first message of a worker has to be a hello");
    }
    std::shared_ptr<Session> session;
    if (Status s = hub_->Begin(request.hello(), caller_, carrier_, &session); !s.ok()) {
      return s;
    }
    {
      const MutexLock lock(mu_);
      session_ = session;
    }
    carrier_->Wake();
    v1::WorkRequest rest = request;
    rest.clear_hello();
    Status s = session->Receive(rest);
    if (!s.ok()) {
      Refuse(s);
    }
    hub_->Assign(session);
    return s;
  }

  void Refuse(const Status& why) override {  // The stream ends with this: its worker lives.
    if (const std::shared_ptr<Session> session = Current(); session != nullptr) {
      session->End(why);
    }
  }

  void ReceivedAll() override {
    std::shared_ptr<Session> session = Current();
    if (session != nullptr) {
      session->End(Status::Ok(), /*died=*/true);  // Who ends in order has given back all keys.
    } else {
      const MutexLock lock(mu_);
      without_hello_ = true;
      carrier_->Wake();
    }
  }

  bool MayWait(const Message& request) const override {
    const std::shared_ptr<Session> session = Current();
    return session != nullptr && static_cast<const v1::WorkRequest&>(request).answers_size() > 0 &&
           hub_->access_->MayWait(std::max(session->queue()->durability(), Durability::kProcess));
  }
  bool WantsMore() const override {
    const std::shared_ptr<Session> session = Current();
    return session == nullptr || session->WantsMore();
  }

  Next Take(Message* response, Status* end) override {
    const std::shared_ptr<Session> session = Current();
    if (session != nullptr) {
      return session->Take(static_cast<v1::WorkResponse*>(response), end);
    }
    const MutexLock lock(mu_);
    *end = Status::Ok();
    return without_hello_ ? Next::kEnd : Next::kNothing;
  }

  void Close() override {
    if (const std::shared_ptr<Session> session = Current(); session != nullptr) {
      session->Detach();
      session->End(Status::Ok(), /*died=*/true);
      hub_->Leave(session);
    }
  }

 private:
  std::shared_ptr<Session> Current() const {
    const MutexLock lock(mu_);
    return session_;
  }

  WorkHub* const hub_;
  const Caller caller_;
  StreamCarrier* const carrier_;
  mutable Mutex mu_;
  std::shared_ptr<Session> session_ WQ_GUARDED_BY(mu_);  // Null before the Hello.
  bool without_hello_ WQ_GUARDED_BY(mu_) = false;
};

WorkHub::WorkHub(StoreAccess* access, const Options& options)
    : access_(access), options_(options), tokens_(&access->store()) {}

WorkHub::~WorkHub() { Close(); }

Status WorkHub::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return {};
}

std::unique_ptr<Stream> WorkHub::Open(const Caller& caller, StreamCarrier* carrier) {
  return std::make_unique<WorkStream>(this, caller, carrier);
}

Status WorkHub::Send(const v1::SendRequest& request) {
  std::shared_ptr<Session> session;
  {
    const MutexLock lock(mu_);
    if (const auto it = sessions_.find(request.session()); it != sessions_.end()) {
      session = it->second;
    }
  }
  if (session == nullptr) {
    return Status::NotFound("there is no worker of this session: its stream has ended");
  }
  if (!session->WantsMore()) {
    return Status::TimedOut("the worker does not read the results of its answers");
  }
  Status s = session->Receive(request.request());
  Assign(session);
  return s;
}

// --- The beginning and the end of a session ---

Status WorkHub::CheckHello(const v1::Hello& hello, WorkerTerms* terms) const {
  const auto bad = [](const std::string& what) {
    return Status::InvalidArgument("hello: " + what);
  };
  if (hello.name().size() > kMaxNameBytes) {
    return bad("the name is longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }
  if (hello.capacity() < 1 || hello.capacity() > kMaxCapacity) {
    return bad("the capacity is " + std::to_string(hello.capacity()) + ", not 1 to " +
               std::to_string(kMaxCapacity));
  }
  const auto limit = [](int64_t us) { return std::min(std::chrono::microseconds(us), kMaxLimit); };
  terms->silence_limit =
      hello.silence_limit_us() == 0 ? options_.silence_limit : limit(hello.silence_limit_us());
  if (terms->silence_limit < kMinSilence) {
    return bad("silence_limit_us is " + std::to_string(hello.silence_limit_us()) +
               ", less than a second");
  }
  if (hello.key_limit_us() < 0) {
    return bad("key_limit_us is negative");
  }
  terms->key_limit = limit(hello.key_limit_us());
  terms->tells_starts = hello.tells_starts();
  terms->queue = hello.queue();
  terms->name = hello.name();
  terms->capacity = hello.capacity();
  return {};
}

Status WorkHub::Begin(const v1::Hello& hello, const Caller& caller, StreamCarrier* carrier,
                      std::shared_ptr<Session>* session) {
  WorkerTerms terms;
  terms.store_uuid = access_->store().uuid();
  terms.replicated = access_->replicated();
  terms.peer = caller.peer;
  if (Status s = CheckHello(hello, &terms); !s.ok()) {
    return s;
  }
  Queue* queue = nullptr;
  if (Status s = access_->Find(hello.queue(), hello.create(), &queue); !s.ok()) {
    return s;
  }
  if (Status s = tokens_.Prepare(); !s.ok()) {
    return s;
  }
  std::unique_ptr<Worker> shards;
  if (queue->shards() > 0) {
    if (Status s = queue->Join(&shards); !s.ok()) {
      return s;
    }
  }
  const std::shared_ptr<QueueWork> work = WorkOf(queue);
  auto begun = std::make_shared<Session>(std::move(terms), NewSessionId(), queue, std::move(shards),
                                         work->give_backs(), carrier);
  {
    const MutexLock lock(mu_);
    if (closing_ || draining_) {
      return ServerCloses();
    }
    if (sessions_.size() >= options_.max_workers) {
      return Status::ShuttingDown("the server has " + std::to_string(sessions_.size()) +
                                  " workers, and takes no more");
    }
    if (const auto it = works_.find(queue); it == works_.end() || it->second != work) {
      return Status::NotFound("queue '" + EscapeKey(hello.queue()) + "' is deleted");
    }
    sessions_.emplace(begun->id(), begun);
    work->Add(begun);
  }
  *session = std::move(begun);
  return {};
}

std::shared_ptr<QueueWork> WorkHub::FindWork(const Queue* queue) const {
  const MutexLock lock(mu_);
  const auto it = works_.find(queue);
  return it == works_.end() ? nullptr : it->second;
}

// Made without mu_: a queue that calls its listeners waits for mu_ in on_ready.
std::shared_ptr<QueueWork> WorkHub::WorkOf(Queue* queue) {
  if (std::shared_ptr<QueueWork> work = FindWork(queue); work != nullptr) {
    return work;
  }
  auto made = std::make_shared<QueueWork>(
      queue, &tokens_,
      [this](TimePoint when, const std::shared_ptr<Session>& session) { Plan(when, session); },
      [this, queue] {
        const MutexLock lock(mu_);
        ready_.insert(queue);
        changed_.NotifyAll();
      });
  const MutexLock lock(mu_);
  return works_.try_emplace(queue, made).first->second;  // `made` ends after the lock.
}

void WorkHub::Leave(const std::shared_ptr<Session>& session) {
  const MutexLock lock(mu_);
  sessions_.erase(session->id());
  std::erase_if(planned_, [&session](const auto& plan) {
    return !plan.second.owner_before(session) && !session.owner_before(plan.second);
  });
  if (const auto it = works_.find(session->queue()); it != works_.end()) {
    it->second->Remove(session);
  }
  changed_.NotifyAll();
}

void WorkHub::Assign(const std::shared_ptr<Session>& session) {
  if (const std::shared_ptr<QueueWork> work = FindWork(session->queue()); work != nullptr) {
    work->Assign();
  }
  if (session->held() == 0) {
    const MutexLock lock(mu_);
    if (draining_) {
      changed_.NotifyAll();
    }
  }
}

std::vector<std::shared_ptr<Session>> WorkHub::AllSessions() const {
  std::vector<std::shared_ptr<Session>> all;
  const MutexLock lock(mu_);
  for (const auto& [_, session] : sessions_) {
    all.push_back(session);
  }
  return all;
}

void WorkHub::List(std::string_view queue, v1::ListWorkersResponse* response) const {
  size_t room = kMaxListedBytes;
  for (const std::shared_ptr<Session>& session : AllSessions()) {
    if (queue.empty() || session->terms().queue == queue) {
      session->Describe(response->add_workers(), &room);
    }
  }
  std::sort(response->mutable_workers()->begin(), response->mutable_workers()->end(),
            [](const v1::Worker& a, const v1::Worker& b) {
              return a.connected_at_us() < b.connected_at_us();
            });
}

std::map<std::string, uint64_t, std::less<>> WorkHub::CountByQueue() const {
  std::map<std::string, uint64_t, std::less<>> counts;
  for (const std::shared_ptr<Session>& session : AllSessions()) {
    ++counts[session->terms().queue];
  }
  return counts;
}

bool WorkHub::FindHolder(const Queue* queue, std::string_view key,
                         v1::GetKeyResponse* response) const {
  for (const std::shared_ptr<Session>& session : AllSessions()) {
    if (session->queue() == queue && session->DescribeHeld(key, response)) {
      return true;
    }
  }
  return false;
}

void WorkHub::EndQueue(const Queue* queue, const Status& why) {
  for (const std::shared_ptr<Session>& session : AllSessions()) {
    if (session->queue() == queue) {
      session->End(why);
    }
  }
  std::shared_ptr<QueueWork> work;  // Ends after the lock: its listener may wait for it.
  const MutexLock lock(mu_);
  if (const auto it = works_.find(queue); it != works_.end()) {
    work = std::move(it->second);
    works_.erase(it);
  }
}

bool WorkHub::Drain(std::chrono::steady_clock::time_point deadline) {
  std::vector<std::shared_ptr<QueueWork>> works;
  {
    const MutexLock lock(mu_);
    draining_ = true;
    for (const auto& [_, work] : works_) {
      works.push_back(work);
    }
  }
  for (const std::shared_ptr<QueueWork>& work : works) {
    work->Stop();
  }
  const MutexLock lock(mu_);
  const auto holds_none = [](const auto& session) { return session.second->held() == 0; };
  while (!std::all_of(sessions_.begin(), sessions_.end(), holds_none)) {
    if (closing_ || !changed_.WaitUntil(mu_, deadline)) {
      return false;
    }
  }
  return true;
}

void WorkHub::Close() {
  {
    const MutexLock lock(mu_);
    if (std::exchange(closing_, true)) {
      return;
    }
    changed_.NotifyAll();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  for (const std::shared_ptr<Session>& session : AllSessions()) {
    session->End(ServerCloses());
  }
  std::map<const Queue*, std::shared_ptr<QueueWork>> works;  // Ends after the lock.
  const MutexLock lock(mu_);
  works.swap(works_);
}

// --- The thread ---

void WorkHub::Run() {
  for (;;) {
    std::set<const Queue*> ready;
    {
      const MutexLock lock(mu_);
      while (!closing_ && ready_.empty() &&
             (planned_.empty() || planned_.begin()->first > Session::Clock::now())) {
        if (planned_.empty()) {
          changed_.Wait(mu_);
        } else {
          changed_.WaitUntil(mu_, planned_.begin()->first);
        }
      }
      if (closing_) {
        return;
      }
      ready.swap(ready_);
    }
    for (const Queue* const queue : ready) {
      if (const std::shared_ptr<QueueWork> work = FindWork(queue); work != nullptr) {
        work->Assign();
      }
    }
    CheckLimits(Session::Clock::now());
  }
}

void WorkHub::Plan(TimePoint when, const std::shared_ptr<Session>& session) {
  const MutexLock lock(mu_);
  const bool first = planned_.empty() || when < planned_.begin()->first;
  planned_.emplace(when, session);
  if (first) {
    changed_.NotifyAll();
  }
}

void WorkHub::CheckLimits(TimePoint now) {
  std::vector<std::weak_ptr<Session>> due;
  {
    const MutexLock lock(mu_);
    while (!planned_.empty() && planned_.begin()->first <= now) {
      due.push_back(std::move(planned_.begin()->second));
      planned_.erase(planned_.begin());
    }
  }
  for (const std::weak_ptr<Session>& weak : due) {
    const std::shared_ptr<Session> session = weak.lock();
    if (session == nullptr) {
      continue;
    }
    if (const auto next = session->CheckLimits(now); next.has_value()) {
      Plan(*next, session);
    }
    if (session->ended()) {
      Leave(session);  // Its stream may be unable to end: the worker does not read.
    }
    Assign(session);  // Keys may have been given back.
  }
}

}  // namespace wq

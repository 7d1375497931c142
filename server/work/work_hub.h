// WorkHub: the workers of all queues of a store: their streams, their limits of time, and their
// end.
//
// It has one thread, which sleeps until a queue reports keys for a waiting worker or a limit of
// time is over; so it never wakes up while nothing happens. Messages of workers are handled by the
// threads of the carriers.
//
// Locks: mu_, then QueueWork's, then Session's. No queue is called under mu_.
// Threading: thread-safe. Lifetime: borrows the store access; Close before its store is closed, and
// after the last Stream has been closed it may be destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "server/api/method.h"
#include "server/api/store_access.h"
#include "server/work/queue_work.h"
#include "server/work/session.h"
#include "server/work/token_source.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/browse.pb.h"
#include "wq/v1/work.pb.h"

namespace wq {

class WorkHub {
 public:
  struct Options {
    size_t max_workers = 4096;
    std::chrono::microseconds silence_limit{30'000'000};  // If the Hello names none.
  };
  WorkHub(StoreAccess* access, const Options& options);
  ~WorkHub();  // Closes.
  WorkHub(const WorkHub&) = delete;
  WorkHub& operator=(const WorkHub&) = delete;

  // IOError: no thread can be started.
  Status Start();

  // A stream of Work.Work. The hub outlives it.
  std::unique_ptr<Stream> Open(const Caller& caller, StreamCarrier* carrier);
  // Work.Send. NotFound: there is no such session. TimedOut: its worker does not read.
  Status Send(const v1::SendRequest& request) WQ_EXCLUDES(mu_);

  // The workers of `queue`, or of all queues if it is empty, in the order of their connection.
  void List(std::string_view queue, v1::ListWorkersResponse* response) const WQ_EXCLUDES(mu_);
  // How many workers each queue has; queues without one are omitted.
  std::map<std::string, uint64_t, std::less<>> CountByQueue() const WQ_EXCLUDES(mu_);
  // Who holds a key: sets the fields of the holder. False: no worker of this hub.
  bool FindHolder(const Queue* queue, std::string_view key, v1::GetKeyResponse* response) const
      WQ_EXCLUDES(mu_);
  // Ends the sessions of the queue, before it is closed.
  void EndQueue(const Queue* queue, const Status& why) WQ_EXCLUDES(mu_);

  // Takes a token for a key that is not held through this hub.
  Status TakeToken(uint64_t* token) { return tokens_.Take(tokens_.Epoch(), 1, token); }

  // No more keys are assigned. Waits until no key is held, or until the deadline: false.
  bool Drain(std::chrono::steady_clock::time_point deadline) WQ_EXCLUDES(mu_);
  // Ends all sessions and refuses new ones. Idempotent.
  void Close() WQ_EXCLUDES(mu_);

 private:
  class WorkStream;
  using TimePoint = Session::Clock::time_point;

  // Checks a Hello and begins the session.
  Status Begin(const v1::Hello& hello, const Caller& caller, StreamCarrier* carrier,
               std::shared_ptr<Session>* session) WQ_EXCLUDES(mu_);
  Status CheckHello(const v1::Hello& hello, WorkerTerms* terms) const;
  std::shared_ptr<QueueWork> WorkOf(Queue* queue) WQ_EXCLUDES(mu_);
  std::shared_ptr<QueueWork> FindWork(const Queue* queue) const WQ_EXCLUDES(mu_);
  // Assigns keys after the session may have got a free place.
  void Assign(const std::shared_ptr<Session>& session) WQ_EXCLUDES(mu_);
  void Leave(const std::shared_ptr<Session>& session) WQ_EXCLUDES(mu_);
  std::vector<std::shared_ptr<Session>> AllSessions() const WQ_EXCLUDES(mu_);

  void Run() WQ_EXCLUDES(mu_);
  void Plan(TimePoint when, const std::shared_ptr<Session>& session) WQ_EXCLUDES(mu_);
  void CheckLimits(TimePoint now) WQ_EXCLUDES(mu_);

  StoreAccess* const access_;
  const Options options_;
  TokenSource tokens_;

  mutable Mutex mu_;
  CondVar changed_;  // For the thread; and for Drain.
  bool closing_ WQ_GUARDED_BY(mu_) = false;
  bool draining_ WQ_GUARDED_BY(mu_) = false;
  std::map<const Queue*, std::shared_ptr<QueueWork>> works_ WQ_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<Session>, std::less<>> sessions_ WQ_GUARDED_BY(mu_);
  std::set<const Queue*> ready_ WQ_GUARDED_BY(mu_);
  std::multimap<TimePoint, std::weak_ptr<Session>> planned_ WQ_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace wq

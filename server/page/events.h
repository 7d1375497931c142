// Events: the server-sent events of the live page: GET /ui/events?queue=NAME.
//
//   Events events({.clock = clock, .overview = …});
//   Status s = events.Start();
//   http.Get("/ui/events", [&](const HttpRequest& request) {
//     return events.Listen(QueryValue(request.query, "queue"), still_allowed, request.wake);
//   });
//
// One thread reads the overview at most every 500 ms, and only while somebody listens; without
// listeners nothing wakes up. An overview that has changed becomes an event, whose bytes all
// listeners of that queue share. A listener that takes them slowly gets the newest event next, and
// none of those that it has missed.
// Threading: thread-safe. Lifetime: outlives the streams; Close ends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "server/http/http.h"
#include "server/series/paced_thread.h"
#include "wq/clock.h"
#include "wq/status.h"
#include "wq/v1/browse.pb.h"

namespace wq {

class Events {
 public:
  static constexpr int64_t kIntervalUs = 500'000;
  static constexpr int64_t kCommentUs = 15'000'000;  // So that both sides notice a dead connection.

  struct Options {
    Clock* clock = nullptr;
    // Reads the overview of a queue, or of all if it is empty. Called by one thread.
    std::function<void(const std::string& queue, v1::GetOverviewResponse* response)> overview;
    size_t max_listeners = 1000;
  };
  explicit Events(Options options);
  ~Events();  // Closes. REQUIRES: no stream is left.
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // IOError: no thread can be started.
  Status Start();
  // The answer whose stream sends the events. `may_go_on` is asked before each event; false ends
  // the stream. `wake`: see HttpRequest. 503: there are too many listeners, or the server closes.
  HttpReply Listen(const std::string& queue, std::function<bool()> may_go_on,
                   std::function<void()> wake) WQ_EXCLUDES(mu_);
  void Close() WQ_EXCLUDES(mu_);  // Ends all streams.

  size_t listeners() const WQ_EXCLUDES(mu_);
  uint64_t readings() const WQ_EXCLUDES(mu_);  // How often an overview was read.

 private:
  // What the listeners of one queue get.
  struct Topic {
    v1::GetOverviewResponse last = {};
    std::shared_ptr<const std::string> event = nullptr;  // nullptr: nothing was read yet.
    uint64_t version = 0;                                // Of `event`.
    int64_t read_at_us = 0;
    size_t listeners = 0;
  };
  struct Listener {
    std::string queue;
    Topic* topic;
    std::function<void()> wake;
    uint64_t seen = 0;
    uint64_t comments = 0;
  };
  class ListenerStream;

  std::optional<int64_t> Work() WQ_EXCLUDES(mu_);
  void Read(const std::string& queue, int64_t now_us) WQ_EXCLUDES(mu_);
  // Bytes that the listener has not got; empty: it is to wait. False: the stream ends.
  bool Take(Listener* listener, std::string* bytes) WQ_EXCLUDES(mu_);
  void Remove(std::list<Listener>::iterator listener) WQ_EXCLUDES(mu_);
  void WakeListeners(const Topic* topic) WQ_REQUIRES(mu_);  // nullptr: all.

  const Options options_;
  mutable Mutex mu_;
  std::map<std::string, Topic> topics_ WQ_GUARDED_BY(mu_);  // By queue; each has listeners.
  std::list<Listener> listeners_ WQ_GUARDED_BY(mu_);
  uint64_t comments_ WQ_GUARDED_BY(mu_) = 0;  // How often a comment was due.
  int64_t commented_at_us_ WQ_GUARDED_BY(mu_) = 0;
  uint64_t readings_ WQ_GUARDED_BY(mu_) = 0;
  bool closing_ WQ_GUARDED_BY(mu_) = false;
  PacedThread thread_;
};

}  // namespace wq

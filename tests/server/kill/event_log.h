// EventLog: what all processes of a test do, in one order. It is a file that the processes map: an
// event's place is a number from one shared counter, taken when the event is added. So if a process
// adds an event before it makes a call and another one after the call has returned, the call's
// effect is between the two, whatever other processes add.
//
// A process that is killed while it adds an event leaves an empty place; readers skip it.
// Thread-safe, also between processes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace wq::support {

enum class EventKind : uint32_t {
  kNone = 0,         // An empty place.
  kServerStarts,     // By the parent, before it starts the server.
  kServerKilling,    // Before the kill.
  kServerKilled,     // The server was reaped.
  kSessionBegins,    // `session`: before the call that begins it.
  kAddBegins,        // `key`. The call is about to be made.
  kAdded,            // `key`, and `token`: the place of its kAddBegins. It is acknowledged.
  kAssigned,         // `key`, `token`, `session`.
  kAnswerSent,       // The same, and `detail`: an AnswerDetail.
  kAnswerAccepted,   // The same.
  kAnswerRefused,    // The same: by the server, while the session went on.
  kReplayAccepted,   // `key`, `token`: a second answer for the same token has taken effect.
  kLocalGot,         // `key`: by the server's own worker `session`.
  kLocalEnds,        // `key`, `detail`: before its Done or PutBack.
  kLocalEndRefused,  // `key`: that call has failed.
};

// Bits of Event::detail.
inline constexpr uint32_t kDoneDetail = 1;
inline constexpr uint32_t kDurableDetail = 2;

struct Event {
  EventKind kind = EventKind::kNone;
  uint32_t key = 0;
  uint64_t token = 0;
  uint32_t session = 0;
  uint32_t detail = 0;
};

class EventLog {
 public:
  static constexpr uint64_t kPlaces = uint64_t{1} << 20;
  static constexpr uint64_t kStride = 32;

  // Creates the file, or opens it. Aborts if that fails.
  EventLog(const std::string& path, bool create);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Returns the event's place. Ends the process if the log is full.
  uint64_t Add(const Event& event);
  uint64_t size() const { return head_->next.load(); }
  bool nearly_full() const { return size() > kPlaces / 4 * 3; }
  std::vector<Event> Read() const;  // By place.

  // Waits until the log has about `events` events, or for `patience`.
  void WaitForSize(uint64_t events, std::chrono::microseconds patience);

  // Shared by the processes.
  uint32_t NewSession() { return head_->sessions.fetch_add(1) + 1; }
  uint32_t NewKey() { return head_->keys.fetch_add(1); }
  void Stop() { head_->stopping = true; }
  bool stopping() const { return head_->stopping; }
  // The number of servers that were started and serve. A client waits for the next one.
  uint32_t servers() const { return head_->servers.load(); }
  void ServerServes();
  void WaitForServerAfter(uint32_t servers, std::chrono::microseconds patience);

 private:
  struct Place {
    std::atomic<uint32_t> kind;  // Written last.
    uint32_t key;
    uint64_t token;
    uint32_t session;
    uint32_t detail;
  };
  struct Head {
    std::atomic<uint64_t> next;
    std::atomic<uint32_t> grown;  // Changes with every kStride events.
    std::atomic<uint32_t> servers;
    std::atomic<uint32_t> sessions;
    std::atomic<uint32_t> keys;
    std::atomic<bool> stopping;
  };
  Head* head_ = nullptr;
  Place* places_ = nullptr;
};

}  // namespace wq::support

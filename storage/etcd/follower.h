// Follower: follows a log in etcd by a stream of watches.
//
//          Next                    no more entries             a response
//   kRead ------> a page of -----------------------> kWatch -------------> events
//     ^           entries          open the stream     |
//     |                                                |  the watch's revision was compacted, or
//     +------------------------------------------------+  an entry was erased, or the stream failed
//
// In kRead it reads the owner, the successor and the next entries, all of one revision. After the
// last page it watches from the next revision on. So nothing is missed or seen twice.
//
// If entries that were delivered have been erased since (EraseFrom), those that take their place
// are delivered: the sequence then steps back. To find out, the follower keeps the revisions of
// the last entries that it has delivered.
//
// The stream is read only while Next runs, one response at a time: a consumer that is slow makes
// etcd wait. If nothing comes for two seconds, the follower asks etcd for a sign of life, so that a
// link that is cut is noticed.
//
// Threading: thread-compatible, except Interrupt. Blocks: Next, at most its timeout and one
// request. Lifetime: it shares the client. A crash: does not concern it.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "storage/etcd/client.h"
#include "storage/etcd/keys.h"
#include "wq/replicated_log.h"

namespace wq::etcd {

// How long the stream may be silent, and how long its sign of life may take.
inline constexpr std::chrono::milliseconds kSilence{2000};
inline constexpr std::chrono::milliseconds kAnswer{2000};

class Follower final : public LogFollower {
 public:
  Follower(std::shared_ptr<Client> client, const Keys& keys, LogSequence sequence);
  ~Follower() override;

  Status Next(std::chrono::milliseconds timeout, LogEvents* events) override;
  void Interrupt() override;

 private:
  // The tags of the completion queue.
  enum class Tag : uint8_t { kStart, kRead, kWrite, kFinish, kInterrupt };

  // One stream. All of its operations have ended before it is destroyed.
  struct Stream {
    const Endpoint* endpoint = nullptr;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<pb::WatchRequest, pb::WatchResponse>> calls;
    std::deque<pb::WatchRequest> to_write;  // The first is being written, if `writing`.
    bool writing = false;
    int pending = 0;  // Operations that have begun and not ended.
    pb::WatchResponse response;
    grpc::Status end;
    // Until then something must come.
    Deadline silent_until;
    bool asked = false;  // For a sign of life; also while it opens.
  };

  static bool Any(const LogEvents& events) {
    return !events.entries.empty() || events.owner || events.successor;
  }

  struct Delivered {
    LogSequence sequence = 0;
    int64_t revision = 0;  // The entry's mod_revision.
  };

  void* Address(Tag tag) { return &tags_[static_cast<size_t>(tag)]; }
  // Next, without the pauses after failures.
  Status Step(Deadline deadline, LogEvents* events);
  // kRead: reads what there is. *more: there are further entries.
  Status ReadPage(LogEvents* events, bool* more);
  // Steps back to the first entry that was erased after it was delivered.
  Status StepBack();
  Status Open();
  void Close();
  Status Watch(Deadline deadline, LogEvents* events);
  Status WhileSilent(Deadline now);
  // Of one operation that has ended.
  Status Handle(Tag tag, bool ok, LogEvents* events);
  Status Take(const pb::WatchResponse& response, LogEvents* events);
  Status TakeEntry(const pb::KeyValue& kv, LogEvents* events);
  void Deliver(const pb::KeyValue& kv, LogEvents* events);
  Status SetOwner(const pb::KeyValue* kv, LogEvents* events);
  Status SetSuccessor(const pb::KeyValue* kv, LogEvents* events);
  void Write(pb::WatchRequest request);
  void WriteNext();
  // Waits for the completion queue. False: the deadline has passed.
  bool Wait(Deadline deadline, Tag* tag, bool* ok);
  // Waits until another attempt is due, or `deadline`. True: it is due.
  bool WaitForAttempt(Deadline deadline);

  const std::shared_ptr<Client> client_;
  const Keys keys_;
  std::array<Tag, 5> tags_ = {Tag::kStart, Tag::kRead, Tag::kWrite, Tag::kFinish, Tag::kInterrupt};
  grpc::CompletionQueue queue_;

  LogSequence next_;                 // The entry that is delivered next.
  std::deque<Delivered> delivered_;  // The last ones.
  std::optional<LogOwner> owner_;    // As reported.
  std::optional<std::string> successor_;
  std::optional<Status> truncated_;  // Set for good.
  int64_t revision_ = 0;             // What was read is as of this one.
  std::unique_ptr<Stream> stream_;   // Set in kWatch.
  bool read_again_ = false;          // The watch has to be left for kRead.
  bool interrupted_ = false;
  Status failure_;           // The last.
  Deadline next_attempt_{};  // After it.
  std::chrono::milliseconds pause_{0};
  Deadline last_return_{};  // Of Next.

  Mutex mu_;
  std::unique_ptr<grpc::Alarm> alarm_ WQ_GUARDED_BY(mu_);  // Set: an interrupt is on its way.
};

}  // namespace wq::etcd

// HistoryRecorder: the thread that writes the events of a store's queues to its history.
//
// It sleeps while nothing is recorded. After the first event it waits a second, or less if a buffer
// becomes half full, and then takes the buffers of all queues. It takes them at most 20 times a
// second: so at most 20 MiB a second of each queue, before compression, reach the disk; what is
// recorded faster is lost.
//
// After a failed write nothing is recorded any more; the queues do not notice.
//
// Locks: write_mu_, then those of the queues, then mu_.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "engine/history/history_buffer.h"
#include "storage/history_log.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class HistoryRecorder {
 public:
  // What records events: a queue.
  class Source {
   public:
    virtual ~Source() = default;
    // Exchanges what was recorded for `bytes`, which is empty.
    virtual void TakeHistory(HistoryBytes* bytes) = 0;
  };

  // REQUIRES: bounds.bytes >= kMinHistoryBytes. `clock` is borrowed.
  HistoryRecorder(const std::string& store_dir, const storage::HistoryBounds& bounds, Clock* clock);
  ~HistoryRecorder();  // Stops if Stop was not called.
  HistoryRecorder(const HistoryRecorder&) = delete;
  HistoryRecorder& operator=(const HistoryRecorder&) = delete;

  // A buffer for a source.
  std::unique_ptr<HistoryBuffer> MakeBuffer();
  void Add(Source* source, const std::string& queue, int64_t created_at_us) WQ_EXCLUDES(write_mu_);
  // Writes what the source has recorded, and forgets it. Does nothing for an unknown source.
  void Remove(Source* source) WQ_EXCLUDES(write_mu_);

  // Writes all that was recorded before this call. Returns the error that has ended the recording.
  Status Flush() WQ_EXCLUDES(write_mu_);
  // Writes what is recorded, ends the thread, closes the file and forgets the sources. Idempotent.
  void Stop() WQ_EXCLUDES(write_mu_, mu_);

 private:
  struct Named {
    std::string queue;
    int64_t created_at_us = 0;
  };

  void Loop() WQ_EXCLUDES(write_mu_, mu_);
  // Waits until there is something to write. False: stop.
  bool Await() WQ_EXCLUDES(mu_);
  void Wake(bool half_full) WQ_EXCLUDES(mu_);
  void Write(Source* source, const Named& named) WQ_REQUIRES(write_mu_);

  Clock* const clock_;
  const size_t buffer_bytes_;

  Mutex write_mu_;
  std::map<Source*, Named> sources_ WQ_GUARDED_BY(write_mu_);
  storage::HistoryLog log_ WQ_GUARDED_BY(write_mu_);
  HistoryBytes spare_ WQ_GUARDED_BY(write_mu_);
  Status status_ WQ_GUARDED_BY(write_mu_);

  Mutex mu_;
  CondVar cv_;  // One of these was set.
  bool recorded_ WQ_GUARDED_BY(mu_) = false;
  bool half_full_ WQ_GUARDED_BY(mu_) = false;
  bool stopping_ WQ_GUARDED_BY(mu_) = false;

  std::thread thread_;  // Last: it uses all of the above.
};

inline constexpr uint64_t kMinHistoryBytes = uint64_t{1} << 20;
inline constexpr std::chrono::microseconds kMinHistoryAge = std::chrono::minutes(1);

}  // namespace wq

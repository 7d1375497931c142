// RealStore: a store under test, with all its queues open, on which StoreCalls are made.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"
#include "tests/model/real_queue.h"
#include "tests/support/draw.h"
#include "tests/support/naive_store.h"
#include "tests/support/store_calls.h"
#include "wq/store.h"

namespace wq::support {

// StoreOptions::process_log_bytes of a test that does not draw its buffers: no process log; one
// that is often full, so that a call has to wait for a write to the database; one in which all
// calls of a test fit, mostly.
inline constexpr std::array<size_t, 3> kLogBytes = {0, size_t{8} << 10, size_t{256} << 10};
// For the name of a test.
inline std::string NameOfLog(size_t log_bytes) {
  return log_bytes == 0 ? "Without" : "Of" + std::to_string(log_bytes / 1024) + "KiB";
}

class RealStore {
 public:
  RealStore(const std::vector<QueueRules>& rules, int64_t wall_us);
  ~RealStore() { Drop(); }

  // `calls_level` is the queues' default.
  Status Open(const std::string& dir, Durability calls_level, const Buffers& buffers);
  // Makes the call and returns its result; of an error the code's name. REQUIRES: Open returned Ok.
  std::string Do(const StoreCall& call);

  Store* store() { return store_.get(); }
  ManualClock* clock() { return &clock_; }
  Queue* queue(size_t i) { return queues_[i]->queue(); }
  // Closes the store.
  void Drop();

 private:
  const std::vector<QueueRules> rules_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  std::vector<std::unique_ptr<model::RealQueue>> queues_;
};

// Reads the contents of the store in `dir`, without changing it. A store or a queue that does not
// exist yet is empty.
Status ReadStore(const std::string& dir, const std::vector<QueueRules>& rules, StoreImage* image);

}  // namespace wq::support

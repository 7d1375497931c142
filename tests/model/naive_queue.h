// NaiveQueue: the queue's semantics again, as plainly as they can be written: one map, linear
// searches, no code shared with the engine. It is what the real queue is compared with.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/model/call.h"

namespace wq::model {

class NaiveQueue final : public Subject {
 public:
  explicit NaiveQueue(int64_t wall_us) : wall_us_(wall_us) {}

  std::string Do(const Call& call) override;
  std::string Dump() override;

 private:
  struct Delay {
    int64_t due_us;
    int64_t ready_at_us;
    int64_t delay_us;
    Lane lane;
  };
  struct Key {
    bool queued = false;
    bool processing = false;
    bool again = false;  // Added while processing.
    Lane lane = 0;
    uint64_t place = 0;  // In its lane.
    std::optional<Delay> delay = std::nullopt;
    uint64_t failures = 0;
  };

  std::string Add(const std::string& name, Lane lane);
  std::string AddAfter(const std::string& name, int64_t delay_us, std::optional<Lane> lane);
  std::string Get();
  std::string Done(const std::string& name);
  void Fire();
  void Crash();
  Lane KnownLane(const Key& key) const;

  std::map<std::string, Key> keys_;
  uint64_t last_place_ = 0;
  int64_t steady_us_ = 0;
  int64_t wall_us_;
};

}  // namespace wq::model

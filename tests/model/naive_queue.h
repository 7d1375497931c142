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

  // The part of Dump that says what is on disk.
  std::string DumpRecords() const;
  int64_t wall_us() const { return wall_us_; }
  // The number (from 1) of the latest call that must be on disk for the last one to be
  // acknowledged: the one that wrote the record which stands for it. 0 if the last call waits for
  // nothing.
  uint64_t stands_on() const { return stands_on_; }

 private:
  struct Delay {
    int64_t due_us;
    int64_t ready_at_us;
    int64_t delay_us;
    Lane lane;
    uint64_t written = 0;  // The call that wrote its record.
  };
  struct Key {
    bool queued = false;
    bool processing = false;
    bool again = false;  // Added while processing.
    Lane lane = 0;
    uint64_t place = 0;  // In its lane.
    std::optional<Delay> delay = std::nullopt;
    uint64_t failures = 0;
    uint64_t written = 0;  // The call that wrote its pending record.
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
  uint64_t calls_ = 0;
  uint64_t stands_on_ = 0;
  int64_t steady_us_ = 0;
  int64_t wall_us_;
};

}  // namespace wq::model

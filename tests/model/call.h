// Call: one call on a queue, as data: what the model and the real queue are both asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wq/options.h"

namespace wq::model {

enum class Op : uint8_t {
  kAdd,
  kAddAfter,
  kAddRateLimited,
  kForget,
  kGet,
  kDone,
  kAdvance,  // Both clocks.
  kSetWall,  // The wall clock alone, by delay_us; may be negative.
  kCrash,    // Everything in memory is lost. What was called before is on disk.
  kRemove,
  kCancelDelay,
  kEndDelay,
  kQuarantine,
  kRelease,
  kDrop,
  kPause,  // For delay_us, or without end if that is 0.
  kResume,
  kSetCursor,  // Named "c", to the key.
  kFlush,      // At `durability`.
};

struct Call {
  Op op = Op::kGet;
  std::string key = {};
  std::optional<Lane> lane = std::nullopt;
  int64_t delay_us = 0;
  std::string group = {};                               // Of the adding calls.
  uint32_t shard = 0;                                   // Of kGet.
  std::optional<Durability> durability = std::nullopt;  // Of the adding calls. Unset: the queue's.
  bool blind = false;  // Of kAdd: nobody asks for its outcome, so at kAsync it may go by the inbox.

  std::string ToString() const {
    constexpr const char* kNames[] = {
        "Add",     "AddAfter", "AddRateLimited", "Forget",      "Get",      "Done",       "Advance",
        "SetWall", "Crash",    "Remove",         "CancelDelay", "EndDelay", "Quarantine", "Release",
        "Drop",    "Pause",    "Resume",         "SetCursor",   "Flush"};
    std::string text = kNames[static_cast<int>(op)];
    text += "(" + key;
    if (lane.has_value()) {
      text += " lane=" + std::to_string(*lane);
    }
    if (!group.empty()) {
      text += " group=" + group;
    }
    if (op == Op::kGet) {
      text += std::to_string(shard);
    }
    if (delay_us != 0) {
      text += " us=" + std::to_string(delay_us);
    }
    if (durability.has_value()) {
      text += " level=" + std::to_string(static_cast<int>(*durability));
    }
    return text + (blind ? " blind)" : ")");
  }
};

// A queue under test, or the model of one. Do returns what the caller would see, in words; Dump all
// that is known, in the order of a hand-out.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string Do(const Call& call) = 0;
  virtual std::string Dump() = 0;
};

}  // namespace wq::model

// Call: one call on a queue as data, to be made on the model and on the real queue.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/draw.h"
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
  kCrash,    // Memory is lost. The effects of all earlier calls are on disk.
  kRemove,
  kCancelDelay,
  kEndDelay,
  kQuarantine,
  kRelease,
  kDrop,
  kDelete,
  kPause,  // For delay_us, or until kResume if that is 0.
  kResume,
  kSetCursor,  // Named "c", to the key.
  kFlush,      // At `durability`.
  kPutBack,
  kPutBackDead,  // With `delay_us` if it counts a failure.
  kTryGet,       // As many as `limit`.
  kSetLimits,    // `limits` of each group, and `limits_of_queue`.
  kAddBatch,     // Of `keys`.
  kReopen,       // Closes the queue, and opens it with the options `reopening`.
  kDeleteQueue,  // Closes the queue, deletes it, and makes it anew.
  kObserve,      // The object `key` of a source, with `version` and `observed`; in the open list.
  kObserveDeleted,
  kBeginList,  // With the fingerprint `version` and the scope `key`.
  kEndList,
};

// The options with which a queue is opened again, in place of its first ones.
enum class Reopening : uint8_t {
  kAsIs,
  kOtherShards,
  kFewerLanes,
};
inline constexpr uint64_t kReopenings = 3;
QueueOptions OptionsOf(const QueueOptions& first, Reopening reopening);

struct Call {
  Op op = Op::kGet;
  std::string key = {};
  std::optional<Lane> lane = std::nullopt;
  int64_t delay_us = 0;
  std::string group = {};                 // Of the adding calls.
  std::string reason = {};                // Of the adding calls.
  DelayMode mode = DelayMode::kEarliest;  // Of kAddAfter.
  uint32_t shard = 0;                     // Of kGet and kTryGet.
  uint64_t limit = 0;                     // Of kTryGet.
  GroupLimits limits = {};                // Of kSetLimits.
  GroupLimits limits_of_queue = {};
  std::optional<Durability> durability = std::nullopt;  // Of the adding calls. Unset: the queue's.
  std::vector<std::string> keys = {};      // Of kAddBatch, and of a change to many keys.
  Reopening reopening = Reopening::kAsIs;  // Of kReopen.
  std::string version = {};
  std::vector<std::string> observed = {};  // The keys of an object.
  std::string tombstone = {};              // Of kObserve.
  bool filtered = false;                   // Of kObserve.
  bool asks_before = false;                // Of kObserve.
  bool if_absent = false;                  // Of the adding calls.

  std::string ToString() const {
    constexpr const char* kNames[] = {
        "Add",         "AddAfter",    "AddRateLimited", "Forget",         "Get",
        "Done",        "Advance",     "SetWall",        "Crash",          "Remove",
        "CancelDelay", "EndDelay",    "Quarantine",     "Release",        "Drop",
        "Delete",      "Pause",       "Resume",         "SetCursor",      "Flush",
        "PutBack",     "PutBackDead", "TryGet",         "SetLimits",      "AddBatch",
        "Reopen",      "DeleteQueue", "Observe",        "ObserveDeleted", "BeginList",
        "EndList"};
    std::string text = kNames[static_cast<int>(op)];
    text += "(" + support::Packed(key);
    for (const std::string& one : keys) {
      text += support::Packed(one) + " ";
    }
    text += version.empty() ? "" : " version=" + version;
    for (const std::string& one : observed) {
      text += " of=" + support::Packed(one);
    }
    text += tombstone.empty() ? "" : " tombstone=" + tombstone;
    text += filtered ? " filtered" : "";
    text += asks_before ? " before" : "";
    text += if_absent ? " if_absent" : "";
    if (op == Op::kReopen) {
      text += std::to_string(static_cast<int>(reopening));
    }
    if (lane.has_value()) {
      text += " lane=" + std::to_string(*lane);
    }
    if (!group.empty()) {
      text += " group=" + group;
    }
    if (!reason.empty()) {
      text += " reason=" + reason;
    }
    if (op == Op::kGet || op == Op::kTryGet) {
      text += std::to_string(shard);
    }
    if (op == Op::kTryGet) {
      text += " limit=" + std::to_string(limit);
    }
    if (op == Op::kSetLimits) {
      for (const GroupLimits& of : {limits, limits_of_queue}) {
        text += " limits=" + std::to_string(of.max_processing) + "," +
                std::to_string(of.rate.per_second) + "," + std::to_string(of.rate.burst);
      }
    }
    if (delay_us != 0) {
      text += " us=" + std::to_string(delay_us);
    }
    if (mode != DelayMode::kEarliest) {
      text += " mode=" + std::to_string(static_cast<int>(mode));
    }
    if (durability.has_value()) {
      text += " level=" + std::to_string(static_cast<int>(*durability));
    }
    return text + ")";
  }
};

// Whether a call of it may have many keys: a QueueAccess::Change.
bool IsOfMany(Op op);
// The Adds that a kAddBatch makes, in their order.
std::vector<Call> AddsOf(const Call& batch);
// The result of a kAddBatch whose Adds have these results.
std::string ResultOfBatch(const std::vector<std::string>& results);

}  // namespace wq::model

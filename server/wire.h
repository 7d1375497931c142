// The protocol of the control socket: JSON over HTTP/1.1, one request per connection.
//
//   GET  /v1/store                                  -> {"pid", "uuid", "health", "queues": [...]}
//   POST /v1/add     {"queue", "create", "keys", …} -> {"added", "deduplicated", "held", "refused"}
//   POST /v1/change  {"queue", "change", "keys", …} -> {"done", "absent": [index, …]}
//   POST /v1/pause   {"queue", "for_us"}            -> {}
//   POST /v1/resume  {"queue"}                      -> {"was_paused"}
//   POST /v1/flush   {"durability"}                 -> {}
//   an error, with a status other than 200          -> {"code", "message"}
//
// A key is a string, or {"base64": "…"} if it is not UTF-8. Only wire*.cc use the JSON library.
// Decoding checks all types and ranges: InvalidArgument names the wrong field. A request must not
// have unknown fields: one that is misspelled would be ignored. The reference is docs/server.md.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wq/live_store.h"
#include "wq/queue_access.h"

namespace wq::wire {

inline constexpr const char* kStorePath = "/v1/store";
inline constexpr const char* kAddPath = "/v1/add";
inline constexpr const char* kChangePath = "/v1/change";
inline constexpr const char* kPausePath = "/v1/pause";
inline constexpr const char* kResumePath = "/v1/resume";
inline constexpr const char* kFlushPath = "/v1/flush";

// A request. The path determines which fields are used.
struct Call {
  std::string queue;
  std::vector<std::string> keys;
  bool create = false;
  AddRequest add;
  KeyChange change = KeyChange::kRemove;
  Durability durability = Durability::kProcess;
  std::optional<std::chrono::microseconds> pause_for;
};

// These write `keys`, not call.keys.
std::string EncodeAdd(const Call& call, std::span<const std::string_view> keys);
std::string EncodeChange(const Call& call, std::span<const std::string_view> keys);
std::string EncodePause(const Call& call);
std::string EncodeResume(const Call& call);
std::string EncodeFlush(const Call& call);
Status DecodeCall(std::string_view path, std::string_view text, Call* call);

// Answers.
std::string EncodeInfo(const LiveInfo& info);
std::string EncodeBatch(const BatchResult& result);
std::string EncodeChanged(const ChangeResult& result);
std::string EncodeResumed(bool was_paused);
std::string EncodeError(const Status& status);  // REQUIRES: not Ok.
Status DecodeInfo(std::string_view text, LiveInfo* info);
Status DecodeBatch(std::string_view text, BatchResult* result);
Status DecodeChanged(std::string_view text, ChangeResult* result);
Status DecodeResumed(std::string_view text, bool* was_paused);
Status DecodeError(std::string_view text);  // The encoded status, or an IOError.

}  // namespace wq::wire

// Status: the outcome of a call. Errors are values; nothing in wq throws.
//
//   wq::Status s = queue->Add("default/pod-1");
//   if (!s.ok()) std::cerr << s.ToString() << "\n";   // "InvalidArgument: the key is empty"
//
// Threading: thread-compatible; copies are independent. Lifetime: the caller's. A crash: does not
// concern it.
#pragma once

#include "wq/cxx20.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace wq {

// The kind of an outcome. The numbers are part of the API and never change meaning.
enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,   // The caller passed something that can never work: an empty key, say.
  kNotFound = 2,          // The store, queue or key does not exist.
  kAlreadyExists = 3,     // What was to be created or opened exists, or is open, already.
  kNotProcessing = 4,     // Done (or a requeue) of a key that no worker holds. Nothing changed.
  kShuttingDown = 5,      // The queue or store is shutting down or closed. Nothing changed.
  kTimedOut = 6,          // The deadline passed. Nothing changed.
  kLocked = 7,            // Another process owns the store; the message names its pid.
  kCorruption = 8,        // The store's bytes are damaged; the message names the file or record.
  kNotDurable = 9,        // Applied in memory, but a write to the store failed: its outcome on disk
                          // is unknown. The key stays queued.
  kIOError = 10,          // The operating system refused a call; nothing was applied.
  kNotSupported = 11,     // The store was written by another format version of wq.
  kNotOwner = 12,         // A replicated store: this process does not own it, or not any more.
  kFull = 13,             // The queue has QueueOptions::max_pending keys. Nothing changed.
  kUnauthenticated = 14,  // A server: the call has no token, or a wrong one. Nothing changed.
};

// Returns the code's name as in the enumeration, without the k: "InvalidArgument".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  static Status InvalidArgument(std::string m) {
    return {StatusCode::kInvalidArgument, std::move(m)};
  }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status AlreadyExists(std::string m) { return {StatusCode::kAlreadyExists, std::move(m)}; }
  static Status NotProcessing(std::string m) { return {StatusCode::kNotProcessing, std::move(m)}; }
  static Status ShuttingDown(std::string m) { return {StatusCode::kShuttingDown, std::move(m)}; }
  static Status TimedOut(std::string m) { return {StatusCode::kTimedOut, std::move(m)}; }
  static Status Locked(std::string m) { return {StatusCode::kLocked, std::move(m)}; }
  static Status Corruption(std::string m) { return {StatusCode::kCorruption, std::move(m)}; }
  static Status NotDurable(std::string m) { return {StatusCode::kNotDurable, std::move(m)}; }
  static Status IOError(std::string m) { return {StatusCode::kIOError, std::move(m)}; }
  static Status NotSupported(std::string m) { return {StatusCode::kNotSupported, std::move(m)}; }
  static Status NotOwner(std::string m) { return {StatusCode::kNotOwner, std::move(m)}; }
  static Status Full(std::string m) { return {StatusCode::kFull, std::move(m)}; }
  static Status Unauthenticated(std::string m) {
    return {StatusCode::kUnauthenticated, std::move(m)};
  }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns "Ok", or "<code name>: <message>". Keys in messages are escaped: see EscapeKey.
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

}  // namespace wq

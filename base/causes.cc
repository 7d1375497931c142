#include "base/causes.h"

#include <algorithm>
#include <limits>

#include "wq/keys.h"
#include "wq/status.h"

namespace wq {
namespace {

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

// Version 00: "00-" trace id "-" parent id "-" flags.
bool IsTraceParent(std::string_view text) {
  if (text.size() != 55 || !text.starts_with("00-") || text[35] != '-' || text[52] != '-') {
    return false;
  }
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  return IsHex(trace) && IsHex(parent) && IsHex(text.substr(53)) && !IsZero(trace) &&
         !IsZero(parent);
}

size_t BytesOf(const Cause& cause) { return cause.reason.size() + cause.trace_parent.size(); }

bool HasRoom(const Causes& causes, size_t bytes) {
  for (const Cause& cause : causes.list) bytes += BytesOf(cause);
  return causes.list.size() < kMaxCauses && bytes <= kMaxCauseBytes;
}

}  // namespace

Status CheckCause(std::string_view reason, std::string_view trace_parent) {
  if (reason.size() > kMaxReasonBytes) {
    return Status::InvalidArgument("the reason has " + std::to_string(reason.size()) +
                                   " bytes, more than " + std::to_string(kMaxReasonBytes) + ": '" +
                                   EscapeKey(reason, 64) + "'");
  }
  const bool has_control = std::any_of(reason.begin(), reason.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  if (has_control || !IsValidUtf8(reason)) {
    return Status::InvalidArgument("the reason '" + EscapeKey(reason, 64) +
                                   "' is not UTF-8 without control characters");
  }
  if (!trace_parent.empty() && !IsTraceParent(trace_parent)) {
    return Status::InvalidArgument("the trace parent '" + EscapeKey(trace_parent, 64) +
                                   "' is not 00-TRACE-PARENT-FLAGS in hexadecimal digits of lower "
                                   "case");
  }
  return {};
}

bool MergeCause(std::string_view reason, std::string_view trace_parent, Causes* causes) {
  if (reason.empty() && trace_parent.empty()) return false;
  const bool known = std::any_of(causes->list.begin(), causes->list.end(), [&](const Cause& cause) {
    return cause.reason == reason && cause.trace_parent == trace_parent;
  });
  if (known) return false;
  if (HasRoom(*causes, reason.size() + trace_parent.size())) {
    causes->list.push_back({std::string(reason), std::string(trace_parent)});
    return true;
  }
  if (causes->left_out == std::numeric_limits<uint64_t>::max()) return false;
  ++causes->left_out;
  return true;
}

bool MergeCauses(const Causes& more, Causes* causes) {
  bool changed = false;
  for (const Cause& cause : more.list) {
    changed = MergeCause(cause.reason, cause.trace_parent, causes) || changed;
  }
  changed = changed || more.left_out > causes->left_out;
  causes->left_out = std::max(causes->left_out, more.left_out);
  return changed;
}

}  // namespace wq

// An error's form: its text without what differs between errors of one cause.
//
//   FormOf(WithoutKey("pods \"web-1\": dial 10.0.0.7:443: timeout after 30s", "default/web-1"))
//   // pods "<key>": dial <address>: timeout after <time>
//
// Blanked are: the key, and the part behind its last slash if it has three bytes or more, as whole
// words (<key>); times and durations (<time>); hexadecimal ids and UUIDs (<id>); IP addresses with
// their ports (<address>); URLs (<url>); absolute paths (<path>); other numbers (<n>); and what is
// in quotation marks ("…"). White space is one space. Other bytes stay as they are, whatever they
// are: escape the form for output.
//
// Pure. Time and result are bounded: only the first kMaxFormBytes bytes of an error count.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace wq {

inline constexpr size_t kMaxFormBytes = 1024;

// The error without the key: many errors are equal then, and have one form.
std::string WithoutKey(std::string_view error, std::string_view key);
std::string FormOf(std::string_view text);  // Of what WithoutKey has returned.

// Finds the forms of many errors, and remembers those of the last ones. Thread-compatible.
class ErrorForms {
 public:
  // Valid until the next call.
  const std::string& Of(std::string_view error, std::string_view key);

 private:
  std::unordered_map<std::string, std::string> forms_;  // Of errors without keys.
};

}  // namespace wq

// ErrorGroups: keys that fail, grouped by the forms of their last errors (error_form.h).
//
//   ErrorGroups groups;
//   groups.Add({.queue = "pods", .key = key, .error = failures.last_error, …});
//   for (const ErrorGroup& group : groups.Sorted()) …
//
// Memory: bounded, whatever the number of keys: kMaxGroups groups with kMaxExamples keys each.
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/errors/error_form.h"

namespace wq {

// A key with failures.
struct KeyError {
  std::string_view queue;
  std::string_view key;
  std::string_view error;  // The last one.
  uint64_t failures = 0;
  int64_t first_at_us = 0;  // Of its failures.
  int64_t last_at_us = 0;
  bool quarantined = false;
};

struct ErrorGroup {
  struct Example {
    std::string key;
    std::string error;
  };
  std::string queue;
  std::string form;  // Empty: the keys have no error text.
  uint64_t keys = 0;
  uint64_t quarantined = 0;  // Of the keys.
  uint64_t failures = 0;     // Of all its keys.
  int64_t first_at_us = 0;   // The earliest and the latest of all its keys.
  int64_t last_at_us = 0;
  std::vector<Example> examples;  // The first keys that were added.
};

class ErrorGroups {
 public:
  static constexpr size_t kMaxGroups = 1000;
  static constexpr size_t kMaxExamples = 3;

  void Add(const KeyError& key);

  // Most keys first; equal ones by queue and form.
  std::vector<ErrorGroup> Sorted() const;
  // Keys of further forms, when there were kMaxGroups groups already.
  uint64_t ungrouped() const { return ungrouped_; }

 private:
  std::map<std::pair<std::string, std::string>, ErrorGroup> groups_;  // By queue and form.
  ErrorForms forms_;
  uint64_t ungrouped_ = 0;
};

}  // namespace wq

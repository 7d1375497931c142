// KeyFilter: which keys match a filter of proto/wq/v1/browse.proto.
//
//   KeyFilter filter;
//   Status s = filter.Compile(request.filter());   // InvalidArgument: "filter.pattern: …"
//   if (s.ok() && filter.Matches(key)) …
//
// A match costs O(bytes of the key and its error), whatever the pattern. Thread-compatible: it
// remembers the forms of errors.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/errors/error_form.h"
#include "wq/queue.h"
#include "wq/status.h"
#include "wq/v1/browse.pb.h"

namespace re2 {
class RE2;
}

namespace wq {

class KeyFilter {
 public:
  KeyFilter();  // Every key.
  ~KeyFilter();
  KeyFilter(const KeyFilter&) = delete;
  KeyFilter& operator=(const KeyFilter&) = delete;

  // InvalidArgument: the message names the field.
  Status Compile(const v1::KeyFilter& message);
  bool Matches(const KeyInfo& key);

 private:
  bool MatchesState(const KeyInfo& key) const;
  bool MatchesError(const KeyInfo& key);

  v1::KeyFilter wanted_;
  std::unique_ptr<re2::RE2> pattern_;  // Null: any.
  std::unique_ptr<re2::RE2> error_;
  ErrorForms forms_;
};

}  // namespace wq

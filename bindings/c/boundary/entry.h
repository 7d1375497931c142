// Entries, queue infos and cursors, converted between C++ and C. Threading: thread-safe.
#pragma once

#include <map>
#include <string>

#include "wq/c/entry.h"
#include "wq/entry.h"
#include "wq/status.h"

namespace wq::c {

wq_failures ToC(const FailureInfo& failures);  // Borrows the text.
wq_queue_info ToC(const QueueInfo& info);      // Borrows the name and the state of the limiter.

// An entry in C. Valid while this and the entry live.
class CEntry {
 public:
  explicit CEntry(const Entry& entry);
  CEntry(const CEntry&) = delete;
  CEntry& operator=(const CEntry&) = delete;

  const wq_entry* get() const { return &entry_; }

 private:
  wq_failures failures_{};
  wq_entry entry_{};
};

// InvalidArgument: NULL, no size, an unknown state.
Status ToEntry(const wq_entry* in, Entry* out);
Status ToQueueInfo(const wq_queue_info* in, QueueInfo* out);

// Calls `visit` with each cursor until it returns 0. Ok.
Status VisitCursors(const std::map<std::string, std::string>& cursors, wq_visit_cursor visit,
                    void* arg);

}  // namespace wq::c

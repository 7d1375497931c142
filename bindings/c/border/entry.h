// Entries of the C interface, made of those of C++ and the other way. Threading: thread-safe.
#pragma once

#include "wq/c/entry.h"
#include "wq/entry.h"
#include "wq/status.h"

namespace wq::c {

wq_failures ToC(const FailureInfo& failures);  // Borrows the text.

// An entry as C sees it, while this and the entry live.
class EntryOfC {
 public:
  explicit EntryOfC(const Entry& entry);
  EntryOfC(const EntryOfC&) = delete;
  EntryOfC& operator=(const EntryOfC&) = delete;

  const wq_entry* get() const { return &entry_; }

 private:
  wq_failures failures_{};
  wq_entry entry_{};
};

// InvalidArgument: NULL, no size, a state that there is not.
Status ToEntry(const wq_entry* in, Entry* out);
Status ToQueueInfo(const wq_queue_info* in, QueueInfo* out);

}  // namespace wq::c

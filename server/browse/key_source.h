// KeySource: the keys of one queue, to be searched: of a queue in memory, or of a store that nobody
// serves.
//
//   const std::unique_ptr<KeySource> keys = LiveKeys(queue);
//   Status s = keys->Scan([&](const KeyInfo& key) { … return true; });
//
// Of a store on disk, a key that is processing is shown as queued. In bounded memory the entries of
// a key that are stored apart cannot be joined, so Scan shows a key twice that is both pending and
// delayed, or both pending and quarantined: once for each entry, with the states, the times and the
// lane of that entry, in no order of the two. Inspect joins them.
//
// Threading: thread-compatible. Lifetime: LiveKeys borrows the queue.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/api/method.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

class KeySource {
 public:
  virtual ~KeySource() = default;

  // Visits every key, in no order, until `visit` returns false. Blocks: for the disk, of a store.
  virtual Status Scan(const KeyVisitor& visit) const = 0;
  // Visits one key. NotFound: there is nothing of it.
  virtual Status Inspect(std::string_view key,
                         const std::function<void(const KeyInfo&)>& visit) const = 0;
};

// Scans for a caller. ClientIsGone: the scan was ended, because the caller is gone; that is asked
// after each kKeysBetweenAsks keys.
constexpr size_t kKeysBetweenAsks = 1024;
Status ScanFor(const Caller& caller, const KeySource& keys, const KeyVisitor& visit);

std::unique_ptr<KeySource> LiveKeys(const Queue* queue);

}  // namespace wq

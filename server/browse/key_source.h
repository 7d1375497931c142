// KeySource: the keys of the queues of a store, to be searched: of queues in memory, or of a store
// that nobody serves.
//
//   const ServedKeys keys(&access);
//   Status s = keys.Scan("pods", [&](const KeyInfo& key) { … return true; });
//
// Of a store on disk, a key that is processing is shown as queued. In bounded memory the entries of
// a key that are stored apart cannot be joined, so Scan shows a key twice that is both pending and
// delayed, or both pending and quarantined: once for each entry, with the states, the times and the
// lane of that entry, in no order of the two. Inspect joins them.
//
// Threading: thread-safe, unless a source says otherwise. Lifetime: borrows what it is made of.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/method.h"
#include "server/api/store_access.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace wq {

class KeySource {
 public:
  virtual ~KeySource() = default;

  // Whether the queue can be read: as StoreAccess::Find, and so the calls below.
  virtual Status Check(std::string_view queue) const = 0;
  // Visits every key, in no order, until `visit` returns false. Blocks: for the disk, of a store.
  virtual Status Scan(std::string_view queue, const KeyVisitor& visit) const = 0;
  // Visits one key. NotFound: there is nothing of it, either.
  virtual Status Inspect(std::string_view queue, std::string_view key,
                         const std::function<void(const KeyInfo&)>& visit) const = 0;
  // The queues that can be read without opening one.
  virtual std::vector<std::string> Names() const = 0;
};

// The keys of the queues of a served store.
class ServedKeys final : public KeySource {
 public:
  explicit ServedKeys(StoreAccess* access) : access_(access) {}

  Status Check(std::string_view queue) const override;
  Status Scan(std::string_view queue, const KeyVisitor& visit) const override;
  Status Inspect(std::string_view queue, std::string_view key,
                 const std::function<void(const KeyInfo&)>& visit) const override;
  std::vector<std::string> Names() const override;

 private:
  StoreAccess* const access_;
};

// Scans for a caller. ClientIsGone: the scan was ended, because the caller is gone; that is asked
// after each kKeysBetweenAsks keys.
constexpr size_t kKeysBetweenAsks = 1024;
Status ScanFor(const Caller& caller, const std::function<Status(const KeyVisitor&)>& scan,
               const KeyVisitor& visit);

}  // namespace wq

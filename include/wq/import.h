// Importer: writes whole queues, as a dump tells of them, into a store: all of them or none.
//
//   std::unique_ptr<wq::Importer> importer;
//   wq::Status s = wq::Importer::Open({}, "/var/lib/pods", &importer);
//   if (s.ok()) s = importer->Add("pods", entry);   // …
//   if (s.ok()) s = importer->Finish();
//
// What is imported lies beside the store's queues, under a name that no queue can have
// ("pods~loading"), until Finish gives it the queue's name in one atomic step. So without Finish, or
// after a crash before it, the queues are what they were; the next Importer removes what is left.
// Threading: thread-compatible. Lifetime: owns the store until it is destroyed. Memory: one batch,
// and about sixteen bytes for each entry, to find what is there twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wq/entry.h"
#include "wq/status.h"

namespace wq {

struct ImportOptions {
  // Make a new store where there is none.
  bool create_if_missing = true;
  // A queue that is imported takes the place of the one of this name, whatever that holds. Without
  // it only an empty one may be there.
  bool replace = false;
  // Check everything, and write nothing. Works beside an owner of the store.
  bool dry_run = false;
};

struct ImportCounts {
  uint64_t queues = 0;
  uint64_t entries = 0;
  uint64_t cursors = 0;
};

class Importer {
 public:
  // As Store::Open: NotFound, Locked, Corruption, NotSupported.
  static Status Open(const ImportOptions& options, const std::string& dir,
                     std::unique_ptr<Importer>* importer);
  ~Importer();  // Without Finish, nothing was imported.
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // Each of these names a queue, in any order, and may be the first to do so. After an error the
  // import is over.
  //   InvalidArgument  what no queue could hold, alone or beside what was imported before: a key that
  //                    is pending twice, a delayed key that is in quarantine; the message says what.
  //   AlreadyExists    the queue is there, not empty, and `replace` is off.

  // At most once a queue. Without it the queue is created now, and not paused.
  Status SetQueue(const QueueInfo& info);
  Status SetCursor(std::string_view queue, std::string_view name, std::string_view value);
  // The failures go with the key, so the entries of one key should tell the same of them. `shard` is
  // not looked at. A pending entry of sequence 0 comes after all that came before it. A high-water
  // mark that is too low for what is imported is raised.
  Status Add(std::string_view queue, const Entry& entry);

  // Gives what was imported its names, and closes the store. Blocks: for the disk, and, with
  // `replace`, for erasing what was there.
  Status Finish();

  const ImportCounts& counts() const;

 private:
  struct Impl;
  explicit Importer(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq

// Importer: writes whole queues, as a dump contains them, into a store: all of them or none.
// Internal to wqctl load: this header is not installed.
//
//   std::unique_ptr<wq::Importer> importer;
//   wq::Status s = wq::Importer::Open({}, "/var/lib/pods", &importer);
//   if (s.ok()) s = importer->Add("pods", entry);   // …
//   if (s.ok()) s = importer->Finish();
//
// Until Finish, what is imported is stored beside the store's queues, under a name that no queue
// can have ("pods~loading"); Finish gives it the queue's name in one atomic step.
// Memory: one batch, and about sixteen bytes for each entry, to find duplicates.
// Threading: thread-compatible. Lifetime: owns the store until it is destroyed. A crash before
// Finish: the queues are unchanged; the next Importer removes what is left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wq/entry.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

struct ImportOptions {
  // Creates the store if none exists. Default: on.
  bool create_if_missing = true;
  // Lets an imported queue replace the queue of its name, whatever that holds. Costs its erasure in
  // Finish. Default: off; only an empty queue of that name is replaced.
  bool replace = false;
  // Checks everything, and writes nothing. Works beside an owner of the store. Default: off.
  bool dry_run = false;
};

struct ImportCounts {
  uint64_t queues = 0;
  uint64_t entries = 0;
  uint64_t cursors = 0;
  uint64_t objects = 0;  // Of sources.
};

class Importer {
 public:
  // Opens the store in `dir` and becomes its owner. Errors as Store::Open: NotFound, Locked,
  // Corruption, NotSupported.
  static Status Open(const ImportOptions& options, const std::string& dir,
                     std::unique_ptr<Importer>* importer);
  ~Importer();  // Without Finish, nothing was imported.
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // The next five calls name a queue, in any order; each may be the first of its queue. After an
  // error the import is over.
  //   InvalidArgument  what no queue could hold, by itself or beside the earlier entries: a key
  //                    that is pending twice, a delayed key in quarantine. The message gives the
  //                    reason.
  //   AlreadyExists    the queue exists, is not empty, and `replace` is off.

  // Sets what a store keeps about a queue; at most once per queue. Without it the queue's creation
  // time is now, and it is not paused.
  Status SetQueue(const QueueInfo& info);
  Status SetCursor(std::string_view queue, std::string_view name, std::string_view value);
  // A source is set before its objects.
  Status SetSource(std::string_view queue, const SourceRow& source);
  Status AddObject(std::string_view queue, const ObjectRow& object);
  // Adds an entry. Failures belong to the key, so all entries of a key should have the same.
  // `shard` is ignored. A pending entry of sequence 0 is placed after the entries that were added
  // before it. A high-water mark that is too low for the imported entries is raised;
  // with one that leaves no room for later keys, all are placed as if of sequence 0.
  Status Add(std::string_view queue, const Entry& entry);

  // Gives the imported queues their names, and closes the store. Blocks: for the disk, and, with
  // `replace`, for erasing the old queues.
  Status Finish();

  const ImportCounts& counts() const;

 private:
  struct Impl;
  explicit Importer(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq

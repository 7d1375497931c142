// Storage: ordered families of byte records, changed by atomic batches. What the engine knows of
// disks.
//
// Small enough to sit on any ordered store with transactions, a replicated one too: no logical step
// of a queue needs more than six mutations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "storage/mutation_batch.h"
#include "wq/status.h"

namespace wq::storage {

// The reading half. Thread-compatible; several threads may read at once while nobody writes.
class Reader {
 public:
  virtual ~Reader() = default;

  // NotFound if there is no record of this key.
  virtual Status Get(Family family, std::string_view key, std::string* value) const = 0;

  // Calls `visit` with each record with begin <= key < end in the order of key bytes, until it
  // returns false. An empty `end` is the end of the family.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Status Scan(Family family, std::string_view begin, std::string_view end,
                      const Visitor& visit) const = 0;

  // About how many bytes the family takes; 0 where that is not known.
  virtual uint64_t FamilyBytes(Family /*family*/) const { return 0; }
};

// The owner's half.
class Storage : public Reader {
 public:
  // Applies the batch, all or none, and leaves it as it was: its bytes may be lent to who writes them.
  // When it returns Ok the batch survives a kill of the process; with `sync`, it and every earlier one
  // survive a power cut. One writer at a time. After the first error the outcome of that batch is
  // unknown and every later Write and Sync fails, until the store is opened anew: going on after a
  // failed write is how acknowledged data gets lost.
  virtual Status Write(MutationBatch& batch, bool sync) = 0;

  // Every earlier batch survives a power cut. Same errors as Write.
  virtual Status Sync() = 0;

  // After an error: lets go of all that is open, but not of the ownership, and opens the store anew,
  // where it is. Ok: everything that Write said Ok to is there and on the disk, and Write may be
  // called again. Otherwise the store stays as failed as it was, nothing can be read, and Reopen may be
  // tried again. Nothing is ever created: where the store was, another one or an empty directory may
  // have come. Nobody may read meanwhile.
  //   Locked          the ownership was lost: for good, another owner may have written since.
  //   NotFound        what is there is not a store.
  //   Corruption      damaged; the message names the file.
  virtual Status Reopen() = 0;

  // Makes all durable, and the next opening cheap. Nothing may be called afterwards.
  virtual Status Close() = 0;
};

// The smallest byte string greater than every one that starts with `prefix`; empty if there is
// none.
std::string PrefixEnd(std::string_view prefix);

}  // namespace wq::storage

// Storage: column families of byte records in key order, changed by atomic batches. Queues
// and the journal access the disk only through it.
//
// Any ordered store with transactions can implement it, a replicated one too: a transition of a
// queue needs at most six mutations; an observation, six for each of at most 2000 keys, and a row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "storage/mutation_batch.h"
#include "storage/process_log.h"
#include "wq/status.h"

namespace wq::storage {

// The reading half. Several threads may read at once, also during a Write: queues of a store are
// written while another one is opened.
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

  // About how many bytes the family takes; 0 if unknown.
  virtual uint64_t FamilyBytes(Family /*family*/) const { return 0; }
};

// The owner's half.
class Storage : public Reader {
 public:
  // Applies the batch, all or none. The batch is unchanged afterwards; it is not const because its
  // bytes may be lent to the storage (MutationBatch::Lend). One writer at a time. Ok: the batch
  // survives a kill of the process; with `sync`, it and every earlier batch survive a power cut.
  // After the first error the outcome of that batch is unknown, and every later Write and Sync
  // fails until Reopen succeeds: continuing after a failed write can lose acknowledged data.
  virtual Status Write(MutationBatch& batch, bool sync) = 0;

  // Every earlier batch survives a power cut. Same errors as Write.
  virtual Status Sync() = 0;

  // Where the owner can append what is not in a Write yet; null: nowhere. Valid until Close.
  virtual ProcessLog* process_log() { return nullptr; }
  // Ok, or why process_log() is null: NotFound if none was asked for; otherwise as
  // ProcessLog::Create.
  virtual Status ProcessLogStatus() const { return Status::NotFound("no process log"); }

  // Visits at least those records of the family, as they are, that a power cut could take; none
  // that was erased. After an error, too, until Reopen. None if Reopen does not need the files, as
  // that of a replicated storage, which has its log.
  virtual Status ScanUnsynced(Family /*family*/, const Visitor& /*visit*/) const { return {}; }

  // After an error: closes the store's files, but keeps the ownership, and opens the store again.
  // Ok: every batch for which Write returned Ok is on the disk, unless the system has dropped what
  // was not synced, and Write may be called again. Otherwise the store stays failed, nothing can
  // be read, and Reopen may be called again. It creates nothing, since another store or an empty
  // directory may be at the path now. No thread may read during the call.
  //   Locked          the ownership was lost, permanently: another owner may have written since.
  //   NotFound        the path is no longer this store.
  //   Corruption      damaged; the message names the file.
  virtual Status Reopen() = 0;

  // A view of the records as they are after the last Write; later ones do not change it. It must be
  // destroyed before Reopen and Close. Null: this storage has none.
  virtual std::unique_ptr<Reader> Snapshot() const { return nullptr; }

  // Makes everything durable, and the next opening cheap. No call may follow.
  virtual Status Close() = 0;
};

// The smallest byte string that is greater than every string with this prefix; empty if none is.
std::string PrefixEnd(std::string_view prefix);

}  // namespace wq::storage

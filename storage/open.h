// Opening a store's directory on RocksDB: as its owner, or for reading beside the owner.
//
//   std::unique_ptr<Storage> storage;
//   Status s = OpenStorage("/var/lib/pods.wq", {.create_if_missing = true}, &storage);
//
// The directory contains RocksDB's files, OWNER (owner.h) and FORMAT, one line
// "wq-store <format version> <uuid>". FORMAT is written last at creation and is read before RocksDB
// opens anything, so a directory that is not a store is never opened as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// The version of everything on disk: families, keys, records. docs/format.md says how to raise it.
inline constexpr uint32_t kFormatVersion = 3;
// A store of this version has no process log, one of version 2 may have one, and both may lack the
// family "sources". They are opened, and become stores of kFormatVersion.
inline constexpr uint32_t kOldestFormatVersion = 1;

struct OpenOptions {
  bool create_if_missing = false;
  bool error_if_exists = false;
  size_t max_wal_bytes = size_t{64} << 20;
  size_t write_buffer_bytes = size_t{24} << 20;
  size_t process_log_bytes = 0;  // 0: no process log.
  int64_t now_us = 0;            // Wall time: when the store is created, if it is.
  std::string uuid = {};         // Of the store, if it is created. Empty: a random one.
  // Opens a replica too (GetReplication). What its process log has is kept aside then: see
  // AheadRecord.
  bool replicated = false;
  // Opens what is in an UnfinishedDirectory, too.
  bool being_made = false;
};

// Opens `dir` and owns it until the Storage is closed or destroyed. Errors as Store::Open, and
//   NotSupported  a replica, and options.replicated is off. Nothing was changed.
Status OpenStorage(const std::string& dir, const OpenOptions& options,
                   std::unique_ptr<Storage>* storage);

// Makes `dir` if it is missing, and notes in it which uuid its store is to have if it founds a
// replicated one (CLAIM, store_directory.h); *uuid: this one, or the one that an earlier call has
// noted. Durable when it returns Ok. Errors as OpenStorage with create_if_missing, which is to
// follow.
Status ProposeStore(const std::string& dir, std::string* uuid);

// Gives the closed store `dir` a new uuid, in the database and in FORMAT, so that it is another
// store with the same queues. A crash in between leaves a store that cannot be opened. Errors as
// OpenStorage, without what to do next (Refused): the store is being made.
Status RenewStore(const std::string& dir, int64_t now_us);

// Opens `dir` for reading, also beside a running owner. The Reader shows the store as it was at the
// instant of opening. Changes nothing in `dir`. Errors as StoreView::Open.
Status OpenReader(const std::string& dir, std::unique_ptr<Reader>* reader);

}  // namespace wq::storage

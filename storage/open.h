// The store's directory on RocksDB: opening it as the owner, and looking into it as anybody.
//
// What is in the directory: RocksDB's files, OWNER (see owner.h) and FORMAT, one line
// "wq-store <format version> <uuid>". FORMAT is written last at creation and read before RocksDB
// touches anything, so a directory that is not a store is never opened as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// The version of all that is on disk: families, keys, records. To raise it, see docs/format.md.
inline constexpr uint32_t kFormatVersion = 1;

struct OpenOptions {
  bool create_if_missing = false;
  bool error_if_exists = false;
  bool vector_memtable = true;
  size_t max_wal_bytes = size_t{64} << 20;
  size_t write_buffer_bytes = size_t{24} << 20;
  int64_t now_us = 0;  // Wall time, for the record of creation.
};

// Opens `dir` and owns it until the Storage is destroyed. Errors as Store::Open.
Status OpenStorage(const std::string& dir, const OpenOptions& options,
                   std::unique_ptr<Storage>* storage);

// Makes the closed store `dir` another one, with a uuid of its own, in the database and in FORMAT; its
// queues stay. A crash in between leaves a store that nobody opens. Errors as OpenStorage.
Status RenewStore(const std::string& dir, int64_t now_us);

// Opens `dir` for reading, beside its owner if there is one: a view of the moment of opening.
// Changes nothing in `dir`; its own scratch files go to a private temporary directory, removed with
// the Reader. Errors as StoreView::Open.
Status OpenReader(const std::string& dir, std::unique_ptr<Reader>* reader);

}  // namespace wq::storage

// AppendMemtable: a RocksDB memtable that is only appended to, and is sorted when it is read or
// flushed.
//
//   family.memtable_factory = AppendMemtable();
//
// RocksDB's VectorRepFactory does the same, but its sort compares whole records through RocksDB's
// comparator, about twenty times each, and was the greatest single cost of a busy store. A queue's
// records are inserted nearly in order and share long prefixes, so sorting them eight bytes at a
// time costs a fraction of that.
//
// Threading: one writer, and any number of concurrent readers. It does not affect what is on disk.
// For families ordered by bytes, which is RocksDB's default.
#pragma once

#include <memory>

namespace rocksdb {
class MemTableRepFactory;
}

namespace wq::storage {

std::shared_ptr<rocksdb::MemTableRepFactory> AppendMemtable();

}  // namespace wq::storage

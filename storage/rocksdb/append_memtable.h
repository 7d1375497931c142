// AppendMemtable: a RocksDB memtable that is only appended to, and sorted when it is read or flushed.
//
//   family.memtable_factory = AppendMemtable();
//
// Why not RocksDB's own VectorRepFactory, which does the same: its sort compares whole records through
// RocksDB's comparator, about twenty times each, and was the greatest single cost of a busy store.
// Records of a queue come nearly in order and share long beginnings, so that sorting them eight bytes
// at a time costs a fraction of that.
//
// Threading: one writer, and any number of readers beside it. Nothing of it is on disk. For families
// ordered by bytes, which is RocksDB's default.
#pragma once

#include <memory>

namespace rocksdb {
class MemTableRepFactory;
}

namespace wq::storage {

std::shared_ptr<rocksdb::MemTableRepFactory> AppendMemtable();

}  // namespace wq::storage

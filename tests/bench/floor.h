// Floor: bare RocksDB with a store's own options, families and sizes of records, and nothing else.
// What wq cannot be much faster than, as long as it writes the same.
//
//   std::unique_ptr<Floor> floor = Floor::Create(dir);
//   Floor::Batch batch(floor.get());
//   for (...) { batch.Put(&shape, number, key); if (batch.count() == 256) batch.Write(false); }
//
// A failure ends the process. Thread-safe, but a Batch is one thread's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/mutation_batch.h"

namespace wq::bench {

// What stands around a key in a record, as the store itself writes it; only a number differs.
struct Shape {
  storage::Family family;
  std::string prefix;  // Before the key; its last eight bytes are the number, where there is one.
  std::string value;
  bool numbered;
};
Shape PendingShape();   // Numbered by sequence >> storage::kSequenceBlockBits.
Shape SlowLaneShape();  // The same, in the slow lane.
Shape DelayedShape();   // Numbered by the instant.
Shape FailureShape();   // Not numbered.

class Floor {
 public:
  static std::unique_ptr<Floor> Create(const std::string& dir);
  // The database in a store's directory, or one of Create.
  static std::unique_ptr<Floor> Open(const std::string& dir);
  ~Floor();
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  class Batch;

  void Sync();
  // Records in all families but "default", by reading each.
  size_t CountRecords() const;

 private:
  struct Impl;
  explicit Floor(std::unique_ptr<Impl> impl);
  static std::unique_ptr<Floor> OpenDatabase(const std::string& dir, bool create);
  const std::unique_ptr<Impl> impl_;
};

class Floor::Batch {
 public:
  explicit Batch(Floor* floor);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void Put(const Shape& shape, uint64_t number, std::string_view key);
  void Erase(const Shape& shape, uint64_t number, std::string_view key);
  void Write(bool sync);
  size_t count() const;  // Puts and erases since the last Write.

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace wq::bench

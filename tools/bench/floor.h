// Floor: bare RocksDB with a store's own options, families and sizes of records. wq cannot be much
// faster than this as long as it writes the same records.
//
//   std::unique_ptr<Floor> floor = Floor::Create(dir);
//   Floor::Batch batch(floor.get());
//   for (...) { batch.Put(&shape, number, key); if (batch.count() == 256) batch.Write(false); }
//
// A failure ends the process. A Floor is thread-safe, a Batch thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/mutation_batch.h"

namespace wq::bench {

// The parts of a record around its key, as the store itself writes them. Only a number differs
// between records.
struct Shape {
  storage::Family family;
  std::string prefix;  // Before the key. Its last eight bytes are the number if it is `numbered`.
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
  // Opens the database in a store's directory, or a database that Create has made.
  static std::unique_ptr<Floor> Open(const std::string& dir);
  ~Floor();
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  class Batch;

  void Sync();
  // Reads and counts the records in all families but "default".
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

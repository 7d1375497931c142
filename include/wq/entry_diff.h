// EntryDiff: the differences between two states of queues: of two stores, or of a store and a dump.
//
//   wq::EntryDiff diff;
//   wq::Status s = diff.Add(wq::EntryDiff::Side::kBefore, "pods", entry);   // In any order.
//   …
//   s = diff.Run([](const wq::KeyDiff& key) { …; return true; });
//
// Sorts both sides by queue and key; what exceeds Options::memory_bytes is in unnamed files.
// Threading: thread-compatible. Lifetime: for one Run. A crash: leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wq/entry.h"
#include "wq/status.h"
#include "wq/verify.h"

namespace wq {

// A key that differs between the sides. `added` and `removed` exclude the other flags.
struct KeyDiff {
  std::string queue;
  std::string key;
  std::vector<Entry> before;  // Its entries, by state. Empty: the queue did not hold it.
  std::vector<Entry> after;   // Likewise.
  bool added = false;
  bool removed = false;
  bool moved = false;    // It is in other states, or in another lane.
  bool failed = false;   // It has more failures than before.
  bool changed = false;  // It differs in another way: it was added anew, say.
};

// Sets the flags of a key; false if it is equal on both sides. Shards are not compared.
bool Classify(KeyDiff* diff);

class EntryDiff {
 public:
  struct Options {
    size_t memory_bytes = size_t{64} << 20;  // For both sides together. Default: 64 MiB.
    std::string scratch_dir = {};            // For the files. Default: empty, $TMPDIR or /tmp.
    // Told how far Run is: "comparing", in entries of both sides. Default: nullptr, nobody.
    ProgressCallback progress = nullptr;
  };
  enum class Side : uint8_t { kBefore = 0, kAfter = 1 };

  EntryDiff() : EntryDiff(Options{}) {}
  explicit EntryDiff(const Options& options);
  ~EntryDiff();
  EntryDiff(const EntryDiff&) = delete;
  EntryDiff& operator=(const EntryDiff&) = delete;

  // Adds an entry of one side. IOError: the scratch file cannot be written.
  Status Add(Side side, std::string_view queue, const Entry& entry);

  // Visits the keys that differ, by queue, then by the bytes of the key, until `visit` returns
  // false.
  Status Run(const std::function<bool(const KeyDiff&)>& visit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq

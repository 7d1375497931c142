// EntryDiff: what became of the keys between two states of queues: of two stores, of a store and a
// dump.
//
//   wq::EntryDiff diff;
//   wq::Status s = diff.Add(wq::EntryDiff::Side::kBefore, "pods", entry);   // In any order.
//   …
//   s = diff.Run([](const wq::KeyDiff& key) { …; return true; });
//
// Sorts both sides by queue and key, in files without a name beyond Options::memory_bytes. Threading:
// thread-compatible. Lifetime: for one Run. A crash leaves nothing.
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

namespace wq {

// A key that is not the same on both sides. Added and removed exclude all else.
struct KeyDiff {
  std::string queue;
  std::string key;
  std::vector<Entry> before;  // Its entries, by state. Empty: it was not there.
  std::vector<Entry> after;
  bool added = false;
  bool removed = false;
  bool moved = false;    // It is in other states, or in another lane.
  bool failed = false;   // It has more failures than before.
  bool changed = false;  // None of these, and yet not the same: it was added anew, say.
};

// What of them applies to a key; false if it is the same on both sides. Shards do not count.
bool Classify(KeyDiff* diff);

class EntryDiff {
 public:
  struct Options {
    size_t memory_bytes = size_t{64} << 20;  // Of both sides together.
    std::string scratch_dir;                 // Empty: $TMPDIR, or /tmp.
  };
  enum class Side : uint8_t { kBefore = 0, kAfter = 1 };

  EntryDiff() : EntryDiff(Options{}) {}
  explicit EntryDiff(const Options& options);
  ~EntryDiff();
  EntryDiff(const EntryDiff&) = delete;
  EntryDiff& operator=(const EntryDiff&) = delete;

  // IOError: the scratch file cannot be written.
  Status Add(Side side, std::string_view queue, const Entry& entry);

  // Visits the keys that differ, by queue, then by the bytes of the key, until `visit` returns false.
  Status Run(const std::function<bool(const KeyDiff&)>& visit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq

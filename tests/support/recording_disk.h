// RecordingDisk: records every change that stores make to their files, in order, with the syncs,
// and creates the directories that a power cut after any change may leave.
//
//   RecordingDisk disk(dir);
//   ... a store works in `dir` ...
//   disk.Cut(disk.calls() / 2, Unsynced::kTorn, &random, "after-the-cut");
//
// Synced bytes survive; whether the other bytes of a file do depends on Unsynced. Of the changes of
// a directory (creations, renames, deletions) those before its last sync survive, and the first few
// later ones, in their order, as on a journaling file system.
//
// The stores to a mapped file are found by comparing the mapping with its last image at each
// recorded change, and at each call of calls(): a page that differs is a change. Of such a file any
// subset of the unsynced pages survives, each as it was at any change since the last sync. The boot
// id in a process log is replaced: a reader takes it for the log of another boot, as after a real
// power cut.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/watched_disk.h"

namespace wq::support {

// What a power cut does to the bytes of a file that were not synced.
enum class Unsynced : uint8_t {
  kDropped,
  kKept,
  kTorn,    // The first few whole sectors survive.
  kZeroed,  // The first few whole sectors survive; the file keeps its length, filled with zeros.
  kHoles,   // Each sector survives, or is zeros.
};

class RecordingDisk final : public WatchedDisk {
 public:
  static constexpr uint64_t kSector = 512;

  // The present contents of `dir` count as synced.
  explicit RecordingDisk(const std::string& dir);

  // The number of changes that were made.
  uint64_t calls();

  struct Bytes {
    uint64_t synced = 0;
    uint64_t size = 0;  // Synced and unsynced.
  };
  struct Left {
    std::map<std::string, Bytes> files;  // By name.
    uint64_t unsynced_bytes = 0;         // Lost bytes.
    uint64_t undone_names = 0;           // Lost changes of directories.
    uint64_t lost_pages = 0;             // Of mapped files: those that are not as they were last.
  };
  // Creates `to`, which does not exist, as it is after the first `calls` changes and a power cut.
  Left Cut(uint64_t calls, Unsynced unsynced, std::mt19937_64* random, const std::string& to) const;

 protected:
  void After(const FileCall& call) override;

 private:
  struct Change {
    FileCall call;  // Without its `bytes`, which the member below owns.
    std::string bytes;
  };
  struct File {
    std::string contents;
    uint64_t synced = 0;
    // Of a file whose space was allocated: it is written at any place, so pages survive, not a
    // prefix.
    bool paged = false;
    std::string synced_pages = {};                             // Its contents at the last sync.
    std::map<uint64_t, std::vector<std::string>> stored = {};  // By page: the images since then.

    void Write(uint64_t at, const std::string& bytes);
  };
  struct State;
  struct Mapping {
    std::string path;
    std::string_view memory;  // Other threads store to it.
    std::string image;        // As it was recorded last.
  };

  void RecordStores();
  static std::string PagedSurvivor(const File& file, std::mt19937_64* random, Left* left);

  const std::string dir_;
  std::map<std::string, std::string> before_;  // By path: the files at the beginning.
  bool existed_ = false;
  std::vector<Change> changes_;    // Under mu_, as the next one.
  std::vector<Mapping> mappings_;  // The present ones.
};

}  // namespace wq::support

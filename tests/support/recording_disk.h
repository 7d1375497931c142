// RecordingDisk: remembers every change that stores make on their files, in order, and what was synced;
// and makes the directories that a power cut after any of them may leave.
//
//   RecordingDisk disk(dir);
//   ... a store works in `dir` ...
//   disk.Cut(disk.calls() / 2, Unsynced::kTorn, &random, "after-the-cut");
//
// What was synced is there. A file's bytes beyond are there or not by Unsynced. Changes of a directory
// (creations, renames, deletions) come back in their order, as a journaling file system has them: those
// before the directory's last sync, and of the later ones the first few.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/watched_disk.h"

namespace wq::support {

// What became of the bytes of a file that were not synced.
enum class Unsynced : uint8_t {
  kDropped,
  kKept,
  kTorn,    // A number of whole sectors is there.
  kZeroed,  // A number of whole sectors is there; the file has its length, and zeros.
  kHoles,   // Each sector is there, or zeros.
};

class RecordingDisk final : public WatchedDisk {
 public:
  static constexpr uint64_t kSector = 512;

  // What `dir` holds already counts as synced.
  explicit RecordingDisk(const std::string& dir);

  // How many changes there were so far.
  uint64_t calls() const;

  struct Bytes {
    uint64_t synced = 0;
    uint64_t size = 0;  // With those that were not.
  };
  struct Left {
    std::map<std::string, Bytes> files;  // By name.
    uint64_t unsynced_bytes = 0;         // That were lost.
    uint64_t undone_names = 0;           // Changes of directories that were.
  };
  // Makes `to`, which does not exist, as it stands after the first `calls` changes and a power cut.
  Left Cut(uint64_t calls, Unsynced unsynced, std::mt19937_64* random, const std::string& to) const;

 protected:
  void After(const FileCall& call) override;

 private:
  struct Change {
    FileCall call;  // Its `bytes` are in `bytes`.
    std::string bytes;
  };
  struct File {
    std::string contents;
    uint64_t synced = 0;
  };
  struct State;

  const std::string dir_;
  std::map<std::string, std::string> before_;  // By path: the files at the beginning.
  bool existed_ = false;
  std::vector<Change> changes_;  // Under mu_.
};

}  // namespace wq::support

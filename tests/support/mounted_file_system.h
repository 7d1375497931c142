// MountedFileSystem: a small file system of a test's own, if the test may mount one.
//
//   MountedFileSystem small(root / "small", {.make = "mkfs.ext4 -q"});
//   if (!small.mounted()) GTEST_SKIP() << small.skipped();
//   … use small.dir() …
//   small.Fill(0);
//
// Thread-compatible. The destructor unmounts it.
#pragma once

#include <cstdint>
#include <string>

namespace wq::support {

struct FileSystemKind {
  std::string make = {};                 // mkfs with its options; empty: tmpfs.
  uint64_t bytes = uint64_t{320} << 20;  // mkfs.xfs takes no less than 300 MiB.
  bool overlaid = false;                 // An overlayfs, with the changes in such a file system.
};

class MountedFileSystem {
 public:
  // In the new directory `path`.
  MountedFileSystem(const std::string& path, const FileSystemKind& kind);
  ~MountedFileSystem();
  MountedFileSystem(const MountedFileSystem&) = delete;
  MountedFileSystem& operator=(const MountedFileSystem&) = delete;

  bool mounted() const { return why_not_.empty(); }
  // What a test that is skipped says.
  std::string skipped() const;
  const std::string& dir() const { return dir_; }
  // Takes all of its room, but these bytes, until MakeRoom.
  void Fill(uint64_t but_bytes) const;
  void MakeRoom() const;

 private:
  void Mount(const FileSystemKind& kind);
  void Overlay();

  const std::string path_;
  std::string dir_;
  std::string why_not_;
};

}  // namespace wq::support

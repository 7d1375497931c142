// FileStorm: random changes of a directory tree, from one seed.
//
// It uses few names on few levels, so that names are reused: a file becomes a directory becomes a
// link, and a directory is moved to the former place of another one.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace wq {

class FileStorm {
 public:
  FileStorm(std::string root, uint64_t seed) : root_(std::move(root)), random_(seed) {}

  // Makes one change; a change that the tree does not allow has no effect.
  void Change();
  uint64_t changes() const { return changes_; }
  uint64_t Below(uint64_t bound) { return random_() % bound; }

 private:
  std::string Path();
  void Write(const std::string& path, int flags);

  const std::string root_;
  std::mt19937_64 random_;
  uint64_t changes_ = 0;
};

// Makes or replaces a file.
void WriteFile(const std::string& path, std::string_view contents);

}  // namespace wq

#include "mounted_file_system.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace wq::support {
namespace {

// Runs a shell's command. Its output, on one line, if it fails.
std::string Run(const std::string& command, const std::string& scratch) {
  const std::string output = scratch + ".output";
  if (std::system(("(" + command + ") >" + output + " 2>&1").c_str()) == 0) {
    return "";
  }
  std::string text;
  for (std::ifstream lines(output); lines.good();) {
    std::string line;
    std::getline(lines, line);
    text += line + " ";
  }
  return command + ": " + text;
}

}  // namespace

MountedFileSystem::MountedFileSystem(const std::string& path, const FileSystemKind& kind)
    : path_(path), dir_(path) {
  std::filesystem::create_directory(path_);
  Mount(kind);
  if (mounted() && kind.overlaid) {
    Overlay();
  }
}

void MountedFileSystem::Mount(const FileSystemKind& kind) {
  if (kind.make.empty()) {
    const std::string size = "size=" + std::to_string(kind.bytes);
    if (mount("wq-test", path_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) != 0) {
      why_not_ = strerror(errno);
    }
    return;
  }
  const std::string image = path_ + ".image";
  why_not_ = Run("PATH=$PATH:/usr/sbin:/sbin; truncate -s " + std::to_string(kind.bytes) + " " +
                     image + " && " + kind.make + " " + image + " && mount -o loop,nosuid,nodev " +
                     image + " " + path_,
                 path_);
}

void MountedFileSystem::Overlay() {
  dir_ = path_ + ".overlay";
  std::string options;
  for (const char* const part : {"lowerdir", "upperdir", "workdir"}) {
    std::filesystem::create_directory(path_ + "/" + part);
    options += (options.empty() ? "" : ",") + std::string(part) + "=" + path_ + "/" + part;
  }
  std::filesystem::create_directory(dir_);
  if (mount("wq-test", dir_.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    why_not_ = std::string("overlayfs: ") + strerror(errno);
  }
}

MountedFileSystem::~MountedFileSystem() {
  // Neither is an error if nothing is mounted there.
  umount2((path_ + ".overlay").c_str(), MNT_DETACH);
  umount2(path_.c_str(), MNT_DETACH);
}

std::string MountedFileSystem::skipped() const {
  return "NOT TESTED: this file system cannot be mounted here: " + why_not_;
}

void MountedFileSystem::Fill(uint64_t but_bytes) const {
  const int fd = open((dir_ + "/ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const uint64_t free = std::filesystem::space(dir_).free;
  const uint64_t bytes = free - std::min(free, but_bytes);
  uint64_t taken = 0;
  for (uint64_t step = bytes; step > 0 && taken < bytes;) {
    step = std::min(step, bytes - taken);
    if (fallocate(fd, 0, static_cast<off_t>(taken), static_cast<off_t>(step)) == 0) {
      taken += step;
    } else {
      step /= 2;
    }
  }
  close(fd);
}

void MountedFileSystem::MakeRoom() const { std::filesystem::remove(dir_ + "/ballast"); }

}  // namespace wq::support

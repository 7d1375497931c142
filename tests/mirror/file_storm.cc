#include "tests/mirror/file_storm.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace wq {

// One to four levels of six names each, among them names with unusual bytes.
std::string FileStorm::Path() {
  static constexpr std::array<const char*, 6> kNames = {"a",    "b",        "-r",
                                                        "x\ny", "\xff\xfe", ".hidden"};
  std::string path = root_;
  for (uint64_t levels = 1 + Below(4); levels > 0; --levels) {
    path += std::string("/") + kNames[Below(kNames.size())];
  }
  return path;
}

void FileStorm::Write(const std::string& path, int flags) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0644);
  if (fd < 0) {
    return;
  }
  // Usually of one size, so that only the contents differ; sometimes of several chunks.
  const size_t size = Below(20) == 0 ? size_t{300} << 10 : 8;
  const std::string contents(size, static_cast<char>('a' + Below(26)));
  changes_ += write(fd, contents.data(), contents.size()) > 0 ? 1 : 0;
  close(fd);
}

void FileStorm::Change() {
  namespace fs = std::filesystem;
  static constexpr std::array<mode_t, 4> kModes = {0755, 0700, 0644, 0600};
  const std::string path = Path();
  std::error_code error;
  bool is_done = false;
  switch (Below(16)) {
    case 0:
    case 1:
    case 2:
      Write(path, O_TRUNC);
      return;
    case 3:
      Write(path, O_APPEND);
      return;
    case 4:
    case 5:
    case 6:
    case 7:
      is_done = mkdir(path.c_str(), 0755) == 0;
      break;
    case 8:
      is_done = symlink(Path().c_str(), path.c_str()) == 0;
      break;
    case 9:
      is_done = unlink(path.c_str()) == 0;
      break;
    case 10:  // Large trees are removed less often.
      is_done =
          (Below(3) == 0 || path.size() > root_.size() + 4) && fs::remove_all(path, error) > 0;
      break;
    case 11:
    case 12:
      is_done = rename(path.c_str(), Path().c_str()) == 0;
      break;
    case 13:
      is_done = renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, Path().c_str(), RENAME_EXCHANGE) == 0;
      break;
    case 14:
      is_done = link(path.c_str(), Path().c_str()) == 0;
      break;
    default:  // A directory stays accessible to its owner, which need not be root.
      is_done = fchmodat(AT_FDCWD, path.c_str(),
                         fs::is_directory(fs::symlink_status(path, error)) ? kModes[Below(2)]
                                                                           : kModes[Below(4)],
                         0) == 0;
  }
  changes_ += is_done ? 1 : 0;
}

void WriteFile(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

}  // namespace wq

#include "server/net/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace wq {

Status ReadSecretFile(const std::string& what, const std::string& path, std::string* secret) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return errno == ENOENT ? Status::NotFound("there is no " + what + " " + path)
                           : IOErrorOf("cannot read the " + what, path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::InvalidArgument("the " + what + " " + path + " is no regular file");
  }
  // Kubernetes mounts a Secret as root's, readable by the group of the pod.
  const bool of_a_mount = info.st_uid == 0 && geteuid() != 0;
  if ((info.st_mode & (of_a_mount ? 0037 : 0077)) != 0) {
    return Status::InvalidArgument("the " + what + " " + path +
                                   " is accessible to other users: run chmod 600 on it");
  }
  std::string read_bytes(kMaxSecretBytes + 2, '\0');  // One for a newline, one that is too many.
  size_t size = 0;
  if (Status s = ReadAt(fd.get(), path, 0, read_bytes.size(), read_bytes.data(), &size); !s.ok()) {
    return s;
  }
  read_bytes.resize(size);
  if (read_bytes.ends_with('\n')) {
    read_bytes.pop_back();
  }
  if (read_bytes.empty() || read_bytes.size() > kMaxSecretBytes) {
    return Status::InvalidArgument("the " + what + " " + path + " is empty or longer than " +
                                   std::to_string(kMaxSecretBytes) + " bytes");
  }
  *secret = std::move(read_bytes);
  return {};
}

}  // namespace wq

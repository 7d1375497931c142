#include "server/net/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace wq {
namespace {

constexpr std::string_view kScheme = "bearer ";

// In a time that depends on the lengths only.
bool EqualTokens(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

bool HasScheme(std::string_view authorization) {
  return authorization.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

}  // namespace

Status TokenFile::Load(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return errno == ENOENT ? Status::NotFound("there is no token file " + path)
                           : IOErrorOf("cannot read the token file", path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::InvalidArgument("the token file " + path + " is no regular file");
  }
  if ((info.st_mode & 0077) != 0) {
    return Status::InvalidArgument("the token file " + path +
                                   " is accessible to other users: run chmod 600 on it");
  }
  std::string token(kMaxBytes + 2, '\0');  // One byte for a newline, one that is too many.
  size_t size = 0;
  while (size < token.size()) {
    const ssize_t n = read(fd.get(), token.data() + size, token.size() - size);
    if (n < 0 && errno != EINTR) {
      return IOErrorOf("cannot read the token file", path, errno);
    }
    if (n == 0) {
      break;
    }
    size += n > 0 ? static_cast<size_t>(n) : 0;
  }
  token.resize(size);
  if (token.ends_with('\n')) {
    token.pop_back();
  }
  if (token.empty() || token.size() > kMaxBytes) {
    return Status::InvalidArgument("the token file " + path + " is empty or longer than " +
                                   std::to_string(kMaxBytes) + " bytes");
  }
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    return Status::InvalidArgument("the token file " + path +
                                   " has a byte that is no visible ASCII character");
  }
  const MutexLock lock(mu_);
  token_ = std::move(token);
  return {};
}

Status TokenFile::Check(std::string_view authorization) const {
  if (!HasScheme(authorization)) {
    return Status::InvalidArgument("the call has no token (authorization: Bearer TOKEN)");
  }
  const MutexLock lock(mu_);
  if (token_.empty() || !EqualTokens(authorization.substr(kScheme.size()), token_)) {
    return Status::InvalidArgument("the call has a wrong token");
  }
  return {};
}

}  // namespace wq

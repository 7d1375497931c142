#include "server/net/token_file.h"

#include <algorithm>
#include <utility>

#include "server/net/secret_file.h"

namespace wq {
namespace {

constexpr std::string_view kScheme = "bearer ";

bool HasScheme(std::string_view authorization) {
  return authorization.size() >= kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
}

}  // namespace

bool EqualSecrets(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

Status TokenFile::Load(const std::string& path) {
  std::string token;
  if (Status s = ReadSecretFile("token file", path, &token); !s.ok()) {
    return s;
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
    return Status::Unauthenticated("the call has no token (authorization: Bearer TOKEN)");
  }
  const MutexLock lock(mu_);
  if (token_.empty() || !EqualSecrets(authorization.substr(kScheme.size()), token_)) {
    return Status::Unauthenticated("the call has a wrong token");
  }
  return {};
}

}  // namespace wq

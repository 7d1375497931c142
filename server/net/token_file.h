// TokenFile: the bearer token that callers over TCP must know.
//
//   TokenFile token;
//   Status s = token.Load("/etc/wq/token");
//   if (Status s = token.Check(request.authorization); !s.ok()) …   // "Bearer TOKEN"
//
// Threading: thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/mutex.h"
#include "server/net/secret_file.h"
#include "wq/status.h"

namespace wq {

// Compares in a time that depends on the lengths only.
bool EqualSecrets(std::string_view a, std::string_view b);

class TokenFile {
 public:
  static constexpr size_t kMaxBytes = kMaxSecretBytes;

  // Reads the token: the file without one newline at its end. After an error the token is as
  // before. InvalidArgument: the file is no regular file, is accessible to its group or to others,
  // is empty, longer than 4 KiB, or has bytes other than visible ASCII. NotFound: no such file.
  Status Load(const std::string& path) WQ_EXCLUDES(mu_);

  // Unauthenticated unless `authorization` is "Bearer TOKEN"; the message says whether a token is
  // missing or wrong. Before the first Load every token is wrong. Takes as long for every token of
  // a length.
  Status Check(std::string_view authorization) const WQ_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::string token_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq

// ReadSecretFile: a secret that a user keeps in a file.
//
//   std::string token;
//   Status s = ReadSecretFile("token file", "/etc/wq/token", &token);
//
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "wq/status.h"

namespace wq {

inline constexpr size_t kMaxSecretBytes = 4096;

// Reads the file without one newline at its end; `what` names it in messages. InvalidArgument: it
// is no regular file, is accessible to its group or to others, is empty, or longer than
// kMaxSecretBytes. A file of root may be readable by its group, unless the process is root's: so
// does Kubernetes mount a Secret. NotFound: no such file.
Status ReadSecretFile(const std::string& what, const std::string& path, std::string* secret);

}  // namespace wq

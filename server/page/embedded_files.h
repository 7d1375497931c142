// EmbeddedFiles: the files of server/page/files, as embed.cmake has compiled them in.
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace wq {

struct EmbeddedFile {
  std::string_view name;
  const unsigned char* bytes;
  size_t size;
  std::string_view hash;  // Of the bytes, in hexadecimal digits.
};

std::span<const EmbeddedFile> EmbeddedFiles();

}  // namespace wq

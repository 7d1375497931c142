#include "bindings/c/boundary/arguments.h"

#include <algorithm>

namespace wq::c {
namespace {

// Larger than any version of a struct will be.
constexpr size_t kLargestStruct = 4096;

}  // namespace

Status CheckInput(const char* what, const char* data, size_t size) {
  return data == nullptr && size > 0 ? NullArgument(what) : Status::Ok();
}

Status CheckSize(const char* what, size_t size) {
  if (size < 2 * sizeof(size_t) || size > kLargestStruct) {
    return Status::InvalidArgument(std::string(what) + ".size is " + std::to_string(size) +
                                   ", not the struct's size");
  }
  return {};
}

Status ReadSized(const char* what, const void* in, size_t known, void* out) {
  size_t size = 0;
  std::memcpy(&size, in, sizeof size);
  if (Status s = CheckSize(what, size); !s.ok()) {
    return s;
  }
  const char* const bytes = static_cast<const char*>(in);
  if (size > known &&
      std::any_of(bytes + known, bytes + size, [](char byte) { return byte != 0; })) {
    return Status::NotSupported(std::string(what) + " has an option of a later version");
  }
  std::memcpy(out, in, std::min(size, known));
  return {};
}

}  // namespace wq::c

#include "base/resources.h"

#include <string>

namespace wq {

Status LackOf(std::string_view where, const char* what) noexcept {
  try {
    return Status::IOError(std::string(where) + ": no memory or no thread: " + what);
  } catch (const std::bad_alloc&) {
    return Status::IOError("out of memory");  // So short that the string has it in itself.
  }
}

}  // namespace wq

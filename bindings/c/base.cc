// The C interface: names of codes, bytes, key lists, the version.

#include "wq/c/base.h"

#include <cstdlib>
#include <limits>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/call.h"

using wq::Status;
using wq::c::Enter;

extern "C" {

const char* wq_code_name(wq_code code) {
  switch (code) {
    case WQ_BAD_HANDLE:
      return "BadHandle";
    case WQ_FORKED:
      return "Forked";
    case WQ_NO_MEMORY:
      return "NoMemory";
    case WQ_INTERNAL:
      return "Internal";
    default:
      break;
  }
  if (code < WQ_OK || code > WQ_UNAUTHENTICATED) {
    return "?";
  }
  return wq::StatusCodeName(static_cast<wq::StatusCode>(code)).data();  // Literals.
}

void wq_bytes_free(wq_bytes* bytes) {
  if (bytes != nullptr) {
    std::free(bytes->data);
    *bytes = WQ_NO_BYTES;
  }
}

wq_code wq_keys_append(wq_bytes* list, const char* key, size_t size, wq_error* error) {
  return Enter(error, [&]() -> Status {
    if (Status s = wq::c::FirstError(
            {wq::c::CheckOutput("list", list), wq::c::CheckInput("key", key, size)});
        !s.ok()) {
      return s;
    }
    if (size > std::numeric_limits<uint32_t>::max()) {
      return Status::InvalidArgument("a key of " + std::to_string(size) + " bytes");
    }
    wq::c::AppendKey({key, size}, list);
    return {};
  });
}

wq_code wq_keys_next(const char* list, size_t list_size, size_t* offset, const char** key,
                     size_t* size, wq_error* error) {
  return Enter(error, [&]() -> Status {
    if (offset == nullptr || key == nullptr || size == nullptr) {
      return wq::c::NullArgument("offset, key or size");
    }
    if (Status s = wq::c::CheckInput("list", list, list_size); !s.ok()) {
      return s;
    }
    if (*offset >= list_size) {
      return Status::NotFound("the end of the key list");
    }
    std::string_view rest(list + *offset, list_size - *offset);
    std::string_view next;
    if (Status s = wq::c::NextKey(&rest, &next); !s.ok()) {
      return s;
    }
    *offset = list_size - rest.size();
    *key = next.data();
    *size = next.size();
    return {};
  });
}

const char* wq_version(void) { return WQ_VERSION; }

}  // extern "C"

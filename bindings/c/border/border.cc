#include "bindings/c/border/border.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>

namespace wq::c {
namespace {

// More than any version of a struct will have: such a size is not a size.
constexpr size_t kLargestStruct = 4096;

// `text`, cut on a UTF-8 boundary if it is too long.
void WriteError(wq_error* error, wq_code code, std::string_view text) noexcept {
  if (error == nullptr) {
    return;
  }
  error->code = code;
  size_t size = std::min(text.size(), sizeof error->message - 1);
  while (size > 0 && size < text.size() &&
         (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    --size;
  }
  std::memcpy(error->message, text.data(), size);
  error->message[size] = '\0';
}

wq_code Fail(wq_error* error, wq_code code, const char* text) noexcept {
  WriteError(error, code, text);
  return code;
}

}  // namespace

Status BadHandle(Kind kind, uint64_t handle) {
  const std::string name = KindName(kind);
  return MakeStatus(WQ_BAD_HANDLE, handle == 0 ? "the " + name + " is none (its handle is 0)"
                                               : "handle " + std::to_string(handle) + " is no " +
                                                     name + ", or it was freed");
}

wq_code Report(wq_error* error, const Status& status) noexcept {
  if (status.ok()) {
    return WQ_OK;
  }
  const auto code = static_cast<wq_code>(status.code());
  WriteError(error, code, status.message());
  return code;
}

wq_code ReportException(wq_error* error) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(error, WQ_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return Fail(error, WQ_INTERNAL, e.what());
  } catch (...) {
    return Fail(error, WQ_INTERNAL, "an exception that is no std::exception");
  }
}

wq_code ReportFork(wq_error* error) noexcept {
  return Fail(error, WQ_FORKED,
              "this process is a fork of one that uses the library; only after exec it may");
}

wq_code ReportSecluded(wq_error* error) noexcept {
  return Fail(error, WQ_INVALID_ARGUMENT, "a limiter or a clock must not call the library");
}

Thread& ThisThread() {
  thread_local Thread thread;
  return thread;
}

Status NotInCallback(const char* call) {
  return ThisThread().callbacks == 0
             ? Status::Ok()
             : Status::InvalidArgument(std::string(call) +
                                       " inside a callback would wait for itself");
}

Status CheckInput(const char* what, const char* data, size_t size) {
  return data == nullptr && size > 0 ? NullArgument(what) : Status::Ok();
}

Status CheckOutput(const char* what, const wq_bytes* bytes) {
  if (bytes == nullptr) {
    return NullArgument(what);
  }
  if (bytes->data == nullptr ? bytes->size != 0 || bytes->capacity != 0
                             : bytes->size >= bytes->capacity) {
    return Status::InvalidArgument(std::string(what) + " did not begin as WQ_NO_BYTES");
  }
  return {};
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

void Reserve(size_t capacity, wq_bytes* bytes) {
  if (capacity < bytes->capacity) {
    return;
  }
  const size_t wanted = std::max(capacity + 1, bytes->capacity * 2);
  void* const grown = std::realloc(bytes->data, wanted);
  if (grown == nullptr) {
    throw std::bad_alloc();
  }
  bytes->data = static_cast<char*>(grown);
  bytes->capacity = wanted;
}

void Assign(std::string_view value, wq_bytes* bytes) {
  Reserve(value.size(), bytes);
  if (!value.empty()) {
    std::memcpy(bytes->data, value.data(), value.size());
  }
  bytes->data[value.size()] = '\0';
  bytes->size = value.size();
}

void AppendKey(std::string_view key, wq_bytes* list) {
  Reserve(list->size + kKeyHeader + key.size(), list);
  char* at = list->data + list->size;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    *at++ = static_cast<char>(key.size() >> shift & 0xff);
  }
  if (!key.empty()) {
    std::memcpy(at, key.data(), key.size());
  }
  list->size += kKeyHeader + key.size();
  list->data[list->size] = '\0';
}

Status AssignChecked(const char* what, std::string_view value, wq_bytes* bytes) {
  if (Status s = CheckOutput(what, bytes); !s.ok()) {
    return s;
  }
  Assign(value, bytes);
  return {};
}

Status AssignKeys(const char* what, const std::vector<std::string>& keys, wq_bytes* list) {
  if (Status s = CheckOutput(what, list); !s.ok()) {
    return s;
  }
  size_t size = 0;
  for (const std::string& key : keys) {
    size += kKeyHeader + key.size();
  }
  Reserve(size, list);
  Assign({}, list);
  for (const std::string& key : keys) {
    AppendKey(key, list);
  }
  return {};
}

Status NextKey(std::string_view* list, std::string_view* key) {
  if (list->size() < kKeyHeader) {
    return Status::InvalidArgument("a key list ends within a size");
  }
  size_t size = 0;
  for (unsigned i = 0; i < kKeyHeader; ++i) {
    size |= static_cast<size_t>(static_cast<unsigned char>((*list)[i])) << (8 * i);
  }
  list->remove_prefix(kKeyHeader);
  if (size > list->size()) {
    return Status::InvalidArgument("a key list ends within a key of " + std::to_string(size) +
                                   " bytes");
  }
  *key = list->substr(0, size);
  list->remove_prefix(size);
  return {};
}

Status ReadKeys(const char* what, const char* list, size_t size,
                std::vector<std::string_view>* keys) {
  if (Status s = CheckInput(what, list, size); !s.ok()) {
    return s;
  }
  std::string_view rest(list, size);
  while (!rest.empty()) {
    if (Status s = NextKey(&rest, &keys->emplace_back()); !s.ok()) {
      return s;
    }
  }
  return {};
}

}  // namespace wq::c

// WithResources: a lack of memory or threads as a status.
//
//   return WithResources(dir, [&] { return OpenAll(dir); });
//
// The body releases what it has taken when it throws. Thread-safe.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "wq/status.h"

namespace wq {

// IOError; it needs no memory if there is none.
Status LackOf(std::string_view where, const char* what) noexcept;

template <typename Body>
Status WithResources(std::string_view where, const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return LackOf(where, "out of memory");
  } catch (const std::system_error& e) {
    return LackOf(where, e.what());
  }
}

}  // namespace wq

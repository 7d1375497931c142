// ViewCall: a call on a view. Threading: thread-safe.
#pragma once

#include <memory>

#include "bindings/c/boundary/turn.h"
#include "wq/c/base.h"
#include "wq/store_view.h"

namespace wq::c {

using ViewObject = InTurn<Kind::kView, std::unique_ptr<StoreView>>;

// Calls `body(view)`.
template <typename Body>
wq_code ViewCall(wq_view view, wq_error* error, const Body& body) noexcept {
  return CallInTurn<ViewObject>(view.handle, error,
                                [&](const std::unique_ptr<StoreView>& v) { return body(*v); });
}

}  // namespace wq::c

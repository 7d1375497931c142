// What the end of a store needs of its controllers.
#pragma once

#include "bindings/c/boundary/objects.h"

namespace wq::c {

// Stops the store's controllers and frees their handles. Blocks: until their reconciles have
// returned. REQUIRES: the store lives during the call.
void EndControllers(StoreObject* store);

}  // namespace wq::c

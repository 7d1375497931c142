// The service grpc.health.v1.Health, which kubelet probes and load balancers use.
#pragma once

#include <functional>

#include "server/api/method.h"

namespace wq {

// Adds Check and Watch to the table. They know the services that the table has when they are
// called, and "" for the server; all of these have the same health, which `serving` returns.
// `serving` is thread-safe, and may block. The table outlives the calls.
//
// A Watch sends a change within a second. Without a Watch nothing wakes up.
void AddHealth(std::function<bool()> serving, MethodTable* table);

}  // namespace wq

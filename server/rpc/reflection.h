// The service grpc.reflection.v1alpha.ServerReflection, with which grpcurl and similar tools call a
// server without its .proto files.
#pragma once

#include "server/api/method.h"

namespace wq {

// Adds ServerReflectionInfo to the table. It shows the services that the table has when it is
// called, and the files that define them and their messages. The table outlives the calls.
void AddReflection(MethodTable* table);

}  // namespace wq

// wq::Status as gRPC carries it: a gRPC status, and the name of the StatusCode in the trailing
// metadata "wq-code", because several codes of wq share one of gRPC.
#pragma once

#include <string_view>

#include "wq/status.h"

namespace grpc {
class Status;
}

namespace wq {

inline constexpr const char* kCodeMetadata = "wq-code";
// Metadata of a call over a unix socket: the client's pid, for Caller::peer. Not verified.
inline constexpr const char* kPidMetadata = "wq-pid";

// The gRPC status of `status`. "wq-code" is to be StatusCodeName(status.code()), unless it is Ok.
grpc::Status ToGrpc(const Status& status);

// The inverse. `code` is the value of "wq-code"; empty or unknown: the error is gRPC's own, and the
// result has the nearest code. Of these: a lost connection is IOError, a passed deadline TimedOut;
// a message that is too long and a refused token are InvalidArgument.
Status FromGrpc(const grpc::Status& status, std::string_view code);

}  // namespace wq

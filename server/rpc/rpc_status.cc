#include "server/rpc/rpc_status.h"

#include <grpcpp/support/status.h>

namespace wq {
namespace {

grpc::StatusCode GrpcCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return grpc::StatusCode::OK;
    case StatusCode::kInvalidArgument:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case StatusCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case StatusCode::kAlreadyExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case StatusCode::kNotProcessing:
    case StatusCode::kLocked:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case StatusCode::kShuttingDown:
    case StatusCode::kNotOwner:
      return grpc::StatusCode::UNAVAILABLE;
    case StatusCode::kTimedOut:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case StatusCode::kCorruption:
      return grpc::StatusCode::DATA_LOSS;
    case StatusCode::kNotDurable:
    case StatusCode::kIOError:
      return grpc::StatusCode::INTERNAL;
    case StatusCode::kNotSupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case StatusCode::kFull:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case StatusCode::kUnauthenticated:
      return grpc::StatusCode::UNAUTHENTICATED;
  }
  return grpc::StatusCode::UNKNOWN;
}

StatusCode NearestCode(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return StatusCode::kInvalidArgument;
    case grpc::StatusCode::UNAUTHENTICATED:
      return StatusCode::kUnauthenticated;
    case grpc::StatusCode::NOT_FOUND:
      return StatusCode::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS:
      return StatusCode::kAlreadyExists;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return StatusCode::kNotProcessing;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return StatusCode::kTimedOut;
    case grpc::StatusCode::DATA_LOSS:
      return StatusCode::kCorruption;
    case grpc::StatusCode::UNIMPLEMENTED:
      return StatusCode::kNotSupported;
    default:
      return StatusCode::kIOError;
  }
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  return status.ok() ? grpc::Status::OK : grpc::Status(GrpcCode(status.code()), status.message());
}

Status FromGrpc(const grpc::Status& status, std::string_view code) {
  if (status.ok()) {
    return Status::Ok();
  }
  for (int i = 1; i <= static_cast<int>(StatusCode::kUnauthenticated); ++i) {
    const auto candidate = static_cast<StatusCode>(i);
    if (StatusCodeName(candidate) == code) {
      return {candidate, status.error_message()};
    }
  }
  return {NearestCode(status.error_code()), status.error_message()};
}

}  // namespace wq

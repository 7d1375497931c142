// What a failed request to etcd means: whether another endpoint may do better, and the text for
// people.
//
// Threading: functions. Lifetime: the caller's. A crash: does not concern it.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

namespace wq::etcd {

// Whether another endpoint, or the same one a little later, may answer.
bool MayPass(const grpc::Status& failure);

// Whether etcd does not know the token of the request: the user has to authenticate again.
bool IsTokenUnknown(const grpc::Status& failure);

bool IsCompacted(const grpc::Status& failure);      // The revision is not kept any more.
bool IsLeaseNotFound(const grpc::Status& failure);  // The lease has run out.
bool IsWithoutAuth(const grpc::Status& failure);    // etcd has no users: none is needed.

// "etcd <endpoint>: <what it means> (<the text of gRPC or etcd>)". `user`: of the options.
std::string FailureText(std::string_view endpoint, std::string_view user,
                        const grpc::Status& failure);

}  // namespace wq::etcd

// The methods of a MethodTable over HTTP/1.1, in protobuf's JSON mapping.
//
//   POST /wq.v1.Queue/Add      {"queue": "pods", "keys": ["YQ=="]}
//   200                        {"added": "1", …}
//
// A request is one message: of a client that streams, the first one, and its side of the stream
// stays open until it closes the connection. The answer is one message, or of a server that
// streams, one message in each line (application/x-ndjson). A failed call has an HTTP status and
// the body {"code": "NotFound", "message": "…"}; a stream that fails later ends with the line
// {"error": {"code": …, "message": …}}. A client that closes its sending side ends a stream.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/api/method.h"
#include "server/http/http.h"
#include "server/net/call_guard.h"
#include "wq/status.h"

namespace wq {

// Judges requests; nullptr: all pass.
using HttpGuard = std::function<CallGuard::Answer(const HttpRequest& request, bool changes)>;
// Judges the requests of these clients by their header Authorization.
HttpGuard GuardOf(CallGuard::Client client, CallGuard::Asked guard);

// Adds a handler for each method. `guard` judges each call. Borrows `methods`.
void AddApi(const MethodTable& methods, const HttpGuard& guard, Http* http);
// `handler` for the requests that `guard` lets pass.
Http::Handler Guarded(HttpGuard guard, bool changes, Http::Handler handler);

// Appends the message as one line.
Status AppendJson(const Message& message, std::string* text);

// The answer of a call that failed with `status`.
HttpReply ErrorReply(const Status& status);
// For Http::Options: the same body for requests that reach no method.
HttpReply RefusedReply(int http_status, const std::string& message);
HttpReply NoSuchMethod(const std::string& request);

}  // namespace wq

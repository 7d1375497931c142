// Method: one call of the services in proto/wq/v1, without a transport. gRPC and HTTP carry the
// same methods; each reads messages, calls a method, and writes its messages.
//
//   const Method* method = table.Find("/wq.v1.Queue/Add");
//   std::unique_ptr<Message> request(method->request->New()), response(method->response->New());
//   … parse *request …
//   Status s = method->call(caller, *request, response.get());
//
// Threading: a table does not change after its construction; `call` and `open` are thread-safe.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "wq/status.h"

namespace wq {

using google::protobuf::Message;

// What carries a stream: a gRPC call or an HTTP connection.
class StreamCarrier {
 public:
  virtual ~StreamCarrier() = default;
  // Stream::Take may return something now. Thread-safe. Never blocks, and never calls the stream:
  // it may be called under the stream's locks.
  virtual void Wake() = 0;
};

// The server's side of one stream of a client.
//
// The carrier makes these calls. Receive, Refuse and ReceivedAll: one at a time, in the order of
// the messages. Take: one at a time, possibly during Receive. Close: once, after all others have
// returned. The carrier reads the client's next message only when Receive has returned and
// WantsMore is true, so that a client which does not read cannot fill the memory.
class Stream {
 public:
  virtual ~Stream() = default;

  // Handles a message. A status other than Ok ends the stream with it. Blocks: as the method.
  virtual Status Receive(const Message& request) = 0;
  // The client sends nothing more.
  virtual void ReceivedAll() = 0;
  // The carrier could not pass a message to Receive, and ends the stream with `why`.
  virtual void Refuse(const Status& /*why*/) {}
  // Whether Receive of this message may wait for the disk, beside what Method::may_wait says.
  virtual bool MayWait(const Message& /*request*/) const { return false; }
  // False: read no further message until Take has returned one.
  virtual bool WantsMore() const { return true; }

  enum class Next { kNothing, kMessage, kEnd };
  // `response` is an empty message. kMessage: it is to be sent. kNothing: the stream calls
  // StreamCarrier::Wake when this changes. kEnd: the stream ends with *end. Does not block.
  virtual Next Take(Message* response, Status* end) = 0;

  // The stream has ended: the client is gone, the server closes, or Take has returned kEnd. No Wake
  // is running, or called, after it has returned.
  virtual void Close() = 0;
};

// The client of a stream.
struct Caller {
  std::string peer;  // "unix", "unix:PID" (as the client says), "ipv4:127.0.0.1:4711", …
  std::string_view role = {};  // As CallGuard names it.
  std::string token = {};      // The file of the token that it has shown; empty: it needs none.
  // Whether the client waits no longer for the answer of a call without streams. nullptr: it does.
  std::function<bool()> gone = nullptr;

  bool IsGone() const { return gone != nullptr && gone(); }
};

// The status of a call that ends early, because its client is gone. Nobody sees it, but a client
// that has closed its sending side alone.
Status ClientIsGone();

struct Method {
  std::string path;        // "/wq.v1.Queue/Add".
  const Message* request;  // Prototypes.
  const Message* response;
  bool client_streams = false;
  bool server_streams = false;
  // Whether it may change anything: its rpc does not say NO_SIDE_EFFECTS.
  bool changes = true;

  // Without streams on either side. Blocks: if may_wait says so.
  std::function<Status(const Caller& caller, const Message& request, Message* response)> call;
  // With a stream of the server, or of both sides. A client that does not stream sends one message.
  std::function<std::unique_ptr<Stream>(const Caller& caller, StreamCarrier* carrier)> open;
  // Whether `call`, or Receive with this request, may wait for the disk: then it must not run on a
  // thread that other calls need. nullptr: it never waits.
  std::function<bool(const Message& request)> may_wait;
};

// Makes the Method of the rpc `name` ("Add") of `service` ("wq.v1.Queue"). WQ_CHECKs that the rpc
// exists and has these messages.
Method MakeMethod(std::string_view service, std::string_view name, const Message& request,
                  const Message& response);

// The rpc without streams whose `call` is called with the request and the response, and with the
// caller before these if it takes one.
template <typename Request, typename Response, typename Call>
Method Unary(std::string_view service, std::string_view name, Call call,
             std::function<bool(const Message&)> may_wait = nullptr) {
  Method method =
      MakeMethod(service, name, Request::default_instance(), Response::default_instance());
  method.call = [call = std::move(call)]([[maybe_unused]] const Caller& caller,
                                         const Message& request, Message* response) -> Status {
    const auto& typed_request = static_cast<const Request&>(request);
    auto* const typed_response = static_cast<Response*>(response);
    if constexpr (std::is_invocable_v<Call, const Caller&, const Request&, Response*>) {
      return call(caller, typed_request, typed_response);
    } else {
      return call(typed_request, typed_response);
    }
  };
  method.may_wait = std::move(may_wait);
  return method;
}

// For Method::may_wait.
inline bool Waits(const Message& /*request*/) { return true; }

class MethodTable {
 public:
  void Add(Method method);                          // WQ_CHECKs that the path is new.
  const Method* Find(std::string_view path) const;  // nullptr: there is none.
  void ForEach(const std::function<void(Method*)>& change);
  const std::map<std::string, Method, std::less<>>& all() const { return methods_; }

 private:
  std::map<std::string, Method, std::less<>> methods_;
};

// The status of a stream that ends because the server closes.
Status ServerCloses();

}  // namespace wq

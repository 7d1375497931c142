#include "server/http/http_api.h"

#include <google/protobuf/util/json_util.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "wq/internal/queue_calls.h"
#include "wq/keys.h"

namespace wq {
namespace {

constexpr const char* kJsonType = "application/json";
constexpr const char* kLinesType = "application/x-ndjson";
constexpr size_t kTakenBytes = size_t{64} << 10;

nlohmann::ordered_json ErrorObject(const Status& status) {
  return {{"code", StatusCodeName(status.code())}, {"message", status.message()}};
}

constexpr size_t kShownBytes = 300;  // Of what a message repeats.

// Bytes that are not UTF-8 are replaced.
std::string ToText(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kUnauthenticated:
      return 401;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kAlreadyExists:
    case StatusCode::kNotProcessing:
    case StatusCode::kLocked:
      return 409;
    case StatusCode::kShuttingDown:
    case StatusCode::kNotOwner:
      return 503;
    case StatusCode::kFull:
      return 429;
    case StatusCode::kTimedOut:
      return 504;
    case StatusCode::kNotSupported:
      return 501;
    case StatusCode::kCorruption:
    case StatusCode::kNotDurable:
    case StatusCode::kIOError:
      return 500;
  }
  return 500;
}

StatusCode CodeOfRefusal(int http_status) {
  switch (http_status) {
    case 404:
      return StatusCode::kNotFound;
    case 405:
    case 501:
    case 505:
      return StatusCode::kNotSupported;
    default:
      return http_status < 500 ? StatusCode::kInvalidArgument : StatusCode::kIOError;
  }
}

Status FromJson(const std::string& json, Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, message, options);
  if (parsed.ok()) {
    return {};
  }
  std::string why(parsed.message());  // It repeats what it does not know, however long that is.
  if (why.size() > kShownBytes) {
    why = why.substr(0, kShownBytes) + "…";
  }
  return Status::InvalidArgument("the body is no JSON of " + message->GetDescriptor()->full_name() +
                                 ": " + why);
}

Caller CallerOf(const HttpRequest& request) {
  return {.peer = request.peer, .role = request.role, .token = request.token, .gone = request.gone};
}

class WakeCarrier final : public StreamCarrier {
 public:
  explicit WakeCarrier(std::function<void()> wake) : wake_(std::move(wake)) {}
  void Wake() override { wake_(); }

 private:
  const std::function<void()> wake_;
};

// A stream of a method, as lines. Ends with this object.
class ApiStream final : public HttpStream {
 public:
  ApiStream(const Method& method, const HttpRequest& request)
      : streams_(method.client_streams),
        carrier_(request.wake),
        response_(method.response->New()) {}
  ~ApiStream() override {
    if (stream_ != nullptr) {
      stream_->Close();
    }
  }

  // An error is answered with its HTTP status, which is possible until the first message is sent.
  // Blocks: as the method.
  Status Begin(const Method& method, const HttpRequest& request) {
    const std::unique_ptr<Message> first(method.request->New());
    if (Status s = FromJson(request.body, first.get()); !s.ok()) {
      return s;
    }
    stream_ = method.open(CallerOf(request), &carrier_);
    if (Status s = stream_->Receive(*first); !s.ok()) {
      return s;
    }
    if (!streams_) {
      stream_->ReceivedAll();
    }
    TakeOne();
    return next_ == Stream::Next::kEnd ? end_ : Status::Ok();
  }

  Next Take(std::string* bytes) override {
    if (next_ == Stream::Next::kNothing) {  // That was before the wake.
      TakeOne();
    }
    for (; next_ == Stream::Next::kMessage; TakeOne()) {
      if (bytes->size() >= kTakenBytes) {
        return Next::kMore;
      }
      if (Status s = AppendJson(*response_, bytes); !s.ok()) {
        next_ = Stream::Next::kEnd;
        end_ = s;
        break;
      }
    }
    if (next_ == Stream::Next::kNothing) {
      return Next::kNothing;
    }
    if (!end_.ok()) {
      *bytes += ToText({{"error", ErrorObject(end_)}});
    }
    return Next::kEnd;
  }

 private:
  void TakeOne() {
    response_->Clear();
    next_ = stream_->Take(response_.get(), &end_);
  }

  const bool streams_;
  WakeCarrier carrier_;  // Outlives the stream.
  const std::unique_ptr<Message> response_;
  std::unique_ptr<Stream> stream_;
  Stream::Next next_ = Stream::Next::kNothing;
  Status end_;
};

HttpReply AnswerUnary(const Method& method, const HttpRequest& request) {
  const std::unique_ptr<Message> message(method.request->New());
  const std::unique_ptr<Message> response(method.response->New());
  Status s = FromJson(request.body, message.get());
  if (s.ok()) {
    s = method.call(CallerOf(request), *message, response.get());
  }
  HttpReply reply{.type = kJsonType};
  if (!IsApplied(s)) {
    return ErrorReply(s);
  }
  if (Status json = AppendJson(*response, &reply.body); !json.ok()) {
    return ErrorReply(json);
  }
  if (!s.ok()) {  // The response says what was applied in memory.
    nlohmann::ordered_json error = ErrorObject(s);
    error["response"] = nlohmann::ordered_json::parse(reply.body);
    reply.status = HttpStatusOf(s.code());
    reply.body = ToText(error);
  }
  return reply;
}

HttpReply AnswerStream(const Method& method, const HttpRequest& request) {
  const auto stream = std::make_shared<ApiStream>(method, request);
  if (Status s = stream->Begin(method, request); !s.ok()) {
    return ErrorReply(s);
  }
  return {.type = kLinesType, .stream = stream};
}

}  // namespace

Status AppendJson(const Message& message, std::string* text) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;  // MessageToJsonString leaves a partial text behind when it fails.
  const auto printed = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!printed.ok()) {
    return Status::IOError("the answer has no JSON: " + std::string(printed.message()));
  }
  *text += json;
  *text += '\n';
  return {};
}

HttpReply ErrorReply(const Status& status) {
  return {.status = HttpStatusOf(status.code()),
          .type = kJsonType,
          .body = ToText(ErrorObject(status))};
}

HttpReply RefusedReply(int http_status, const std::string& message) {
  return {.status = http_status,
          .type = kJsonType,
          .body = ToText(ErrorObject({CodeOfRefusal(http_status), message}))};
}

HttpReply NoSuchMethod(const std::string& request) {
  return ErrorReply(Status::NotFound("this server has no call " + EscapeKey(request, 256)));
}

HttpGuard GuardOf(CallGuard::Client client, CallGuard::Asked guard) {
  if (guard == nullptr) {
    return nullptr;
  }
  return [client, guard = std::move(guard)](const HttpRequest& request, bool changes) {
    return guard({client, request.authorization, changes, request.peer});
  };
}

Http::Handler Guarded(HttpGuard guard, bool changes, Http::Handler handler) {
  if (guard == nullptr) {
    return handler;
  }
  return [changes, guard = std::move(guard),
          handler = std::move(handler)](const HttpRequest& request) {
    const CallGuard::Answer answer = guard(request, changes);
    switch (answer.verdict) {
      case CallGuard::Verdict::kPass: {
        HttpRequest judged = request;
        judged.role = RoleName(answer.role);
        judged.token = answer.token_file;
        return handler(judged);
      }
      case CallGuard::Verdict::kUnknown:
        return ErrorReply(answer.why);
      case CallGuard::Verdict::kForbidden:
        break;
    }
    HttpReply reply = ErrorReply(answer.why);
    reply.status = 403;
    return reply;
  };
}

void AddApi(const MethodTable& methods, const HttpGuard& guard, Http* http) {
  for (const auto& [path, method] : methods.all()) {
    auto handler = Guarded(guard, method.changes, [&method = method](const HttpRequest& request) {
      return method.call != nullptr ? AnswerUnary(method, request) : AnswerStream(method, request);
    });
    http->Post(path, std::move(handler), method.changes ? HttpRun::kChange : HttpRun::kThread);
  }
}

}  // namespace wq

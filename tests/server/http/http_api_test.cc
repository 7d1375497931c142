// The methods of a table over HTTP: JSON, errors, streams, and who may call.

#include "server/http/http_api.h"

#include <atomic>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "tests/server/http/http_client.h"
#include "wq/v1/browse.pb.h"
#include "wq/v1/queue.pb.h"
#include "wq/v1/work.pb.h"

namespace wq {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the streams of a table do, and what was done with them.
struct StreamScript {
  Mutex mu;  // Of all fields but `taken`.
  std::vector<std::string> calls;
  std::deque<v1::QueueCounts> counts;
  std::deque<v1::WorkResponse> work;
  bool endless = false;
  bool ended = false;
  Status end;
  Status receive;
  StreamCarrier* carrier = nullptr;
  std::string peer;
  std::atomic<uint64_t> taken = 0;
};

class ScriptedStream final : public Stream {
 public:
  ScriptedStream(StreamScript* script, const Caller& caller, StreamCarrier* carrier)
      : script_(script) {
    const MutexLock lock(script_->mu);
    script_->carrier = carrier;
    script_->peer = caller.peer;
  }
  Status Receive(const Message& request) override {
    const MutexLock lock(script_->mu);
    script_->calls.push_back("Receive " + request.ShortDebugString());
    return script_->receive;
  }
  void ReceivedAll() override {
    const MutexLock lock(script_->mu);
    script_->calls.emplace_back("ReceivedAll");
  }
  Next Take(Message* response, Status* end) override {
    const MutexLock lock(script_->mu);
    if (auto* const work = dynamic_cast<v1::WorkResponse*>(response);
        work != nullptr && !script_->work.empty()) {
      *work = script_->work.front();
      script_->work.pop_front();
      return Next::kMessage;
    }
    if (auto* const counts = dynamic_cast<v1::QueueCounts*>(response);
        counts != nullptr && !script_->counts.empty()) {
      *counts = script_->counts.front();
      if (!script_->endless) {
        script_->counts.pop_front();
      }
      ++script_->taken;
      return Next::kMessage;
    }
    *end = script_->end;
    return script_->ended ? Next::kEnd : Next::kNothing;
  }
  void Close() override {
    const MutexLock lock(script_->mu);
    script_->carrier = nullptr;
    script_->calls.emplace_back("Close");
  }

 private:
  StreamScript* const script_;
};

class HttpApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    methods_.Add(Unary<v1::AddRequest, v1::AddResponse>(
        "wq.v1.Queue", "Add", [this](const v1::AddRequest& request, v1::AddResponse* response) {
          last_add_ = request;
          response->set_added(static_cast<uint64_t>(request.keys_size()));
          return error_;
        }));
    methods_.Add(Unary<v1::SearchRequest, v1::SearchResponse>(
        "wq.v1.Browse", "Search", [](const v1::SearchRequest&, v1::SearchResponse* response) {
          response->add_keys()->set_key(std::string("\xff\0z", 3));
          return Status::Ok();
        }));
    Method follow;
    follow.path = kFollow;
    follow.request = &v1::CountsRequest::default_instance();
    follow.response = &v1::QueueCounts::default_instance();
    follow.server_streams = true;
    AddScripted(std::move(follow));
    AddScripted(MakeMethod("wq.v1.Work", "Work", v1::WorkRequest::default_instance(),
                           v1::WorkResponse::default_instance()));
    Make({});
  }
  void AddScripted(Method method) {
    method.open = [this](const Caller& caller, StreamCarrier* carrier) {
      return std::make_unique<ScriptedStream>(&script_, caller, carrier);
    };
    methods_.Add(std::move(method));
  }
  void Make(const CallGuard::Asked& guard, milliseconds io_timeout = hours(1)) {
    http_ = std::make_unique<Http>(Http::Options{.not_found = NoSuchMethod,
                                                 .refused = RefusedReply,
                                                 .max_request_bytes = size_t{1} << 20,
                                                 .io_timeout = io_timeout,
                                                 .idle_timeout = hours(1)});
    AddApi(methods_, GuardOf(CallGuard::Client::kTcp, guard), http_.get());
  }
  ReceivedReply Add(const std::string& json) { return HttpClient(*http_).Post(kAdd, json); }
  void Push(const std::function<void(StreamScript*)>& change) {
    const MutexLock lock(script_.mu);
    change(&script_);
    script_.carrier->Wake();
  }
  std::vector<std::string> calls() {
    const MutexLock lock(script_.mu);
    return script_.calls;
  }

  static constexpr const char* kAdd = "/wq.v1.Queue/Add";
  static constexpr const char* kFollow = "/wq.v1.Queue/Follow";
  static constexpr const char* kWork = "/wq.v1.Work/Work";
  MethodTable methods_;
  std::unique_ptr<Http> http_;
  v1::AddRequest last_add_;
  Status error_;
  StreamScript script_;
};

// --- JSON ---

TEST_F(HttpApiTest, AMethodIsCalledWithJson) {
  const ReceivedReply reply =
      Add(R"({"queue": "pods", "keys": ["YQ==", "/w=="], "delay_us": "5", "durability":
              "DURABILITY_POWER", "lane": -3})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_EQ(reply.body, "{\"added\":\"2\",\"deduplicated\":\"0\",\"held\":\"0\",\"refused\":[]}\n");
  EXPECT_EQ(last_add_.queue(), "pods");
  EXPECT_EQ(last_add_.keys(1), "\xff");
  EXPECT_EQ(last_add_.delay_us(), 5);
  EXPECT_EQ(last_add_.lane(), -3);
  EXPECT_EQ(last_add_.durability(), v1::DURABILITY_POWER);
}

TEST_F(HttpApiTest, KeysOfAnyBytesAreBase64) {
  HttpClient client(*http_);
  EXPECT_THAT(client.Post("/wq.v1.Browse/Search", "{}").body, HasSubstr("\"key\":\"/wB6\""));
}

TEST_F(HttpApiTest, AWrongValueIsNamedWithItsField) {
  for (const auto& [json, name] : std::vector<std::pair<std::string, std::string>>{
           {R"({"queue": "pods", "kees": ["YQ=="]})", "kees"},
           {R"({"queue": 5})", "queue"},
           {R"({"delay_us": "soon"})", "delay_us"},
           {R"({"delay_us": 99999999999999999999})", "delay_us"},
           {R"({"lane": 1.5})", "lane"},
           {R"({"durability": "FOREVER"})", "durability"},
           {R"({"keys": ["%%%"]})", "keys"},
           {R"({"keys": [{"key": "YQ=="}]})", "keys"},
           {R"({"create": "perhaps"})", "create"}}) {
    const ReceivedReply reply = Add(json);
    EXPECT_EQ(reply.status, 400) << json << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(R"({"code":"InvalidArgument","message":")"));
    EXPECT_THAT(reply.body, HasSubstr(name)) << json;
  }
}

TEST_F(HttpApiTest, ABodyThatIsNoJsonIsRefused) {
  const std::string deep(100'000, '[');
  const std::string nested = R"({"queue":)" + std::string(50'000, '{') + "}";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("null x"), std::string("5"),
        std::string("{\"queue\": \"\xff\xfe\"}"), std::string("\0\0\0", 3),
        std::string(R"({"queue": "\ud800"})"), std::string(R"({"queue": "a"} {})"), deep, nested,
        R"({"keys":)" + deep + "}", R"({")" + std::string(600'000, 'x') + R"(": 1})"}) {
    const ReceivedReply reply = Add(body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 50) << " " << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("the body is no JSON of wq.v1.AddRequest: "));
    EXPECT_LT(reply.body.size(), 1000U);
  }
}

// --- Errors ---

TEST_F(HttpApiTest, AStatusHasItsHttpStatus) {
  for (const auto& [status, http_status] :
       std::vector<std::pair<Status, int>>{{Status::InvalidArgument("m"), 400},
                                           {Status::Unauthenticated("m"), 401},
                                           {Status::NotFound("m"), 404},
                                           {Status::AlreadyExists("m"), 409},
                                           {Status::NotProcessing("m"), 409},
                                           {Status::Locked("m"), 409},
                                           {Status::ShuttingDown("m"), 503},
                                           {Status::NotOwner("m"), 503},
                                           {Status::TimedOut("m"), 504},
                                           {Status::Corruption("m"), 500},
                                           {Status::IOError("m"), 500},
                                           {Status::NotSupported("m"), 501}}) {
    error_ = status;
    const ReceivedReply reply = Add("{}");
    EXPECT_EQ(reply.status, http_status);
    EXPECT_EQ(reply.body, "{\"code\":\"" + std::string(StatusCodeName(status.code())) +
                              "\",\"message\":\"m\"}\n");
  }
}

TEST_F(HttpApiTest, WhatAFailedStoreHasAppliedIsSaid) {
  error_ = Status::NotDurable("m");
  const ReceivedReply reply = Add(R"({"keys": ["YQ==", "Yg=="]})");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body,
              testing::StartsWith(R"({"code":"NotDurable","message":"m","response":{"added":"2")"));
}

TEST_F(HttpApiTest, AMessageOfAnyBytesIsJson) {
  error_ = Status::IOError("a \"quote\"\n\xff");
  EXPECT_EQ(Add("{}").body,
            "{\"code\":\"IOError\",\"message\":\"a \\\"quote\\\"\\n\xef\xbf\xbd\"}\n");
}

TEST_F(HttpApiTest, RefusedRequestsAreJsonToo) {
  HttpClient client(*http_);
  const ReceivedReply missing = client.Post("/wq.v1.Queue/Nothing", "{}");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body,
            "{\"code\":\"NotFound\",\"message\":\"this server has no call POST "
            "/wq.v1.Queue/Nothing\"}\n");
  // A path is no regular expression.
  EXPECT_EQ(client.Post("/wqxv1xQueue/Add", "{}").status, 404);
  EXPECT_EQ(client.Ask("GET /wq.v1.Queue/Add HTTP/1.1\r\n\r\n").status, 404);
  const ReceivedReply type = client.Ask(
      "POST /wq.v1.Queue/Add HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: "
      "0\r\n\r\n");
  EXPECT_EQ(type.status, 415);
  EXPECT_EQ(type.body,
            "{\"code\":\"InvalidArgument\",\"message\":\"Content-Type must be "
            "application/json\"}\n");
}

TEST_F(HttpApiTest, WithoutTheTokenNothingIsCalled) {
  Make([](const CallGuard::Request& call) {
    return call.authorization == "Bearer t"
               ? CallGuard::Answer()
               : CallGuard::Answer{CallGuard::Verdict::kUnknown,
                                   Status::Unauthenticated("a wrong token")};
  });
  HttpClient client(*http_);
  for (const char* path : {kAdd, kFollow, kWork}) {
    for (const char* headers : {"", "Authorization: Bearer x\r\n"}) {
      const ReceivedReply reply = client.Post(path, R"({"queue":"pods"})", headers);
      EXPECT_EQ(reply.status, 401);
      EXPECT_THAT(reply.head, HasSubstr("WWW-Authenticate: Bearer\r\n"));
      EXPECT_EQ(reply.body, "{\"code\":\"Unauthenticated\",\"message\":\"a wrong token\"}\n");
    }
  }
  EXPECT_EQ(last_add_.queue(), "");
  EXPECT_THAT(calls(), ElementsAre());
  EXPECT_EQ(client.Post(kAdd, "{}", "Authorization: Bearer t\r\n").status, 200);
}

// --- Streams ---

TEST_F(HttpApiTest, AServersStreamIsLinesUntilItsEnd) {
  HttpClient client(*http_);
  const ReceivedReply reply = client.Post(kFollow, R"({"queue": "pods"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Type: application/x-ndjson\r\n"));
  for (uint64_t queued = 0; queued < 3; ++queued) {
    Push([queued](StreamScript* script) { script->counts.emplace_back().set_queued(queued); });
    const std::string line = client.Chunk();
    EXPECT_THAT(line, HasSubstr("{\"queued\":\"" + std::to_string(queued) + "\",\"processing\":"));
    EXPECT_EQ(line.find('\n'), line.size() - 1);
  }
  Push([](StreamScript* script) { script->ended = true; });
  EXPECT_EQ(client.Chunk(), "");
  EXPECT_EQ(client.Post(kAdd, "{}").status, 200);
  EXPECT_THAT(calls(), ElementsAre("Receive queue: \"pods\"", "ReceivedAll", "Close"));
  const MutexLock lock(script_.mu);
  EXPECT_EQ(script_.peer, "unix:" + std::to_string(getpid()));
}

TEST_F(HttpApiTest, AStreamThatFailsAtOnceHasAnHttpStatus) {
  HttpClient client(*http_);
  script_.receive = Status::NotFound("no queue");
  EXPECT_EQ(client.Post(kFollow, "{}").status, 404);
  script_.receive = {};
  script_.ended = true;
  script_.end = Status::ShuttingDown("later");
  const ReceivedReply reply = client.Post(kFollow, "{}");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "{\"code\":\"ShuttingDown\",\"message\":\"later\"}\n");
  EXPECT_EQ(client.Post(kFollow, R"({"kueue": ""})").status, 400);
  EXPECT_THAT(calls(), ElementsAre("Receive ", "Close", "Receive ", "ReceivedAll", "Close"));
}

TEST_F(HttpApiTest, AStreamThatFailsLaterEndsWithAnErrorLine) {
  HttpClient client(*http_);
  EXPECT_EQ(client.Post(kFollow, "{}").status, 200);
  Push([](StreamScript* script) {
    script->ended = true;
    script->end = Status::ShuttingDown("the queue is closing");
  });
  EXPECT_EQ(client.Chunk(),
            "{\"error\":{\"code\":\"ShuttingDown\",\"message\":\"the queue is closing\"}}\n");
  EXPECT_EQ(client.Chunk(), "");
}

TEST_F(HttpApiTest, TheClientsSideOfATwoWayStreamEndsWithTheConnection) {
  for (const bool whole : {false, true}) {
    HttpClient client(*http_);
    EXPECT_EQ(client.Post(kWork, R"({"hello": {"queue": "pods", "capacity": 2}})").status, 200);
    Push([](StreamScript* script) {
      script->work.emplace_back().mutable_welcome()->set_session("s");
    });
    EXPECT_THAT(client.Chunk(), HasSubstr("{\"welcome\":{\"session\":\"s\","));
    whole ? client.CloseEnd() : client.EndSending();
    client.Join();
    EXPECT_EQ(calls().back(), "Close");
  }
  EXPECT_EQ(calls().front(), "Receive hello { queue: \"pods\" capacity: 2 }");
  EXPECT_EQ(calls().size(), 4U);
}

TEST_F(HttpApiTest, AClientThatDoesNotReadGetsNoMoreMessages) {
  Make({}, milliseconds(50));
  {
    const MutexLock lock(script_.mu);
    script_.endless = true;
    script_.counts.emplace_back();
  }
  HttpClient client(*http_);
  EXPECT_EQ(client.Post(kFollow, "{}").status, 200);
  client.Join();
  EXPECT_LT(script_.taken, 1'000'000U);  // A socket holds far less.
  EXPECT_EQ(calls().back(), "Close");
}

}  // namespace
}  // namespace wq

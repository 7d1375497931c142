// Fuzz target: the services of proto/wq/v1 over a store in memory, without a transport. The input
// chooses the calls, their messages field by field, and what happens to streams; or it is the body
// of an HTTP request. After each call the counters agree with what the workers hold, no key is in
// two states, and no worker holds more than its capacity permitted.
#include <google/protobuf/message.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "server/api/method.h"
#include "server/api/store_access.h"
#include "server/http/http.h"
#include "server/http/http_api.h"
#include "server/http/http_loop.h"
#include "server/service/services.h"
#include "server/work/work_hub.h"
#include "wq/clock.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/work.pb.h"

namespace wq::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

constexpr size_t kMaxStreams = 5;
constexpr uint32_t kMostPlaces = 100'000;

// The unread rest of the input: the choices of a random program. After its end every choice is 0.
class CallInput {
 public:
  CallInput(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool more() const { return left_ > 0; }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint64_t Number() {  // A small number, or a limit of an integer type.
    static constexpr std::array<uint64_t, 8> kOdd = {
        UINT64_MAX,        uint64_t{1} << 63, INT64_MAX, UINT32_MAX,
        uint64_t{1} << 31, INT32_MAX,         1000,      0};
    const uint8_t byte = Byte();
    return byte < 0xF8 ? byte : kOdd[byte - 0xF8];
  }
  // One of few different keys, so that calls use the same keys; sometimes an empty or a long key.
  std::string Bytes() {
    const uint8_t byte = Byte();
    if (byte == 0xFF) return std::string(5000, 'k');
    return byte == 0xFE ? std::string()
                        : std::string("a\0\xFF z", 5).substr(byte % 5, 1 + byte / 5 % 2);
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

class Carrier final : public StreamCarrier {
 public:
  void Wake() override {}
};

struct OpenStream {
  const Method* method = nullptr;
  std::unique_ptr<Carrier> carrier = std::make_unique<Carrier>();  // Outlives the stream.
  std::unique_ptr<Stream> stream;
  bool received = false;
  bool received_all = false;
};

class Services {
 public:
  Services(const uint8_t* data, size_t size) : in_(data, size) {
    WQ_CHECK(Store::OpenInMemory({.clock = &clock_}, &store_).ok(), "no store in memory");
    access_ = std::make_unique<StoreAccess>(
        store_.get(),
        [this](std::string_view name, bool create, Queue** queue) {
          return Open(name, create, queue);
        },
        false);
    Queue* queue = nullptr;
    WQ_CHECK(store_->OpenQueue("own", {.order = Order::kPriorities}, &queue).ok(), "no queue");
    hub_ = std::make_unique<WorkHub>(access_.get(), WorkHub::Options{.max_workers = kMaxStreams});
    AddQueueService(access_.get(), &methods_);
    AddWorkService(hub_.get(), &methods_);
    AddAdminService(access_.get(), hub_.get(), &methods_);
    AddApi(methods_, nullptr, &http_);
    for (const auto& [_, method] : methods_.all()) calls_.push_back(&method);
  }
  ~Services() {
    while (!streams_.empty()) CloseStream(streams_.size() - 1);
    hub_->Close();
    hub_ = nullptr;
  }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void Run() {
    while (in_.more()) {
      Step();
      CheckAll();
    }
  }

 private:
  Status Open(std::string_view name, bool create, Queue** queue) {
    const std::vector<std::string> names = store_->QueueNames();
    if (!create && !std::binary_search(names.begin(), names.end(), name)) {
      return Status::NotFound("there is no such queue");
    }
    QueueOptions options;
    options.shards = name == "shards" ? 2 : 0;
    options.max_requeues = 2;
    return store_->OpenQueue(name, options, queue);
  }

  // --- Messages ---

  std::string Text(const FieldDescriptor* field) {
    static constexpr std::array<const char*, 6> kQueues = {"own", "jobs", "shards",
                                                           "",    "more", "/"};
    if (field->name() == "queue") return kQueues[in_.Byte() % kQueues.size()];
    if (field->name() == "session" && !sessions_.empty()) {
      return sessions_[in_.Byte() % sessions_.size()];
    }
    return in_.Bytes();
  }
  uint64_t Number() {
    const uint8_t byte = in_.Byte();
    if (byte < 0x80 && !tokens_.empty()) return tokens_[tokens_.size() - 1 - byte % tokens_.size()];
    return in_.Number();
  }
  void SetField(Message* message, const FieldDescriptor* field, int depth) {
    const Reflection& fields = *message->GetReflection();
    const bool many = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        Fill(many ? fields.AddMessage(message, field) : fields.MutableMessage(message, field),
             depth + 1);
        return;
      case FieldDescriptor::CPPTYPE_STRING:
        many ? fields.AddString(message, field, Text(field))
             : fields.SetString(message, field, Text(field));
        return;
      case FieldDescriptor::CPPTYPE_UINT64: {
        const uint64_t number = Number();
        many ? fields.AddUInt64(message, field, number) : fields.SetUInt64(message, field, number);
        return;
      }
      case FieldDescriptor::CPPTYPE_INT64:
        fields.SetInt64(message, field, static_cast<int64_t>(in_.Number()));
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        fields.SetUInt32(message, field, static_cast<uint32_t>(in_.Number()));
        return;
      case FieldDescriptor::CPPTYPE_INT32:
        fields.SetInt32(message, field, static_cast<int32_t>(in_.Number()));
        return;
      case FieldDescriptor::CPPTYPE_BOOL:
        fields.SetBool(message, field, in_.Byte() % 2 != 0);
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        fields.SetEnumValue(message, field, in_.Byte() % 9);
        return;
      default:
        return;
    }
  }
  // Sets some fields: a bit of the input for each, and repeated fields up to 7 times.
  void Fill(Message* message, int depth) {
    const auto* const type = message->GetDescriptor();
    if (depth > 4) return;
    for (int i = 0; i < type->field_count(); ++i) {
      const uint8_t times = in_.Byte();
      if (times % 4 == 0 || type->field(i)->is_map()) continue;
      for (int n = type->field(i)->is_repeated() ? 1 + times % 7 : 1; n > 0; --n) {
        SetField(message, type->field(i), depth);
      }
    }
  }
  std::unique_ptr<Message> Request(const Method& method) {
    std::unique_ptr<Message> request(method.request->New());
    Fill(request.get(), 0);
    return request;
  }

  // --- Calls ---

  void Call(const Method& method) {
    const std::unique_ptr<Message> response(method.response->New());
    const std::unique_ptr<Message> request = Request(method);
    if (method.may_wait != nullptr) static_cast<void>(method.may_wait(*request));
    const Status s = method.call({.peer = "fuzz"}, *request, response.get());
    WQ_CHECK(s.ok() || !s.message().empty(), "an error without a message");
  }
  void OpenOne(const Method& method) {
    if (streams_.size() == kMaxStreams) return;
    OpenStream& opened = streams_.emplace_back();
    opened.method = &method;
    opened.stream = method.open({.peer = "fuzz"}, opened.carrier.get());
  }
  void CloseStream(size_t at) {
    streams_[at].stream->Close();
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // What a carrier does, in its order.
  void UseStream(size_t at) {
    OpenStream& one = streams_[at];
    switch (in_.Byte() % 8) {
      case 0:
        return CloseStream(at);
      case 1:
        if (!one.received_all && one.method->client_streams) {
          one.received_all = true;
          one.stream->ReceivedAll();
        }
        return;
      case 2:
      case 3:
      case 4:
        return Take(at);
      default:
        break;
    }
    const bool once = !one.method->client_streams && one.received;
    if (one.received_all || once || !one.stream->WantsMore()) return;
    one.received = true;
    if (!one.stream->Receive(*Request(*one.method)).ok()) CloseStream(at);
  }
  void Take(size_t at) {
    OpenStream& one = streams_[at];
    const std::unique_ptr<Message> response(one.method->response->New());
    Status end;
    const Stream::Next next = one.stream->Take(response.get(), &end);
    if (next == Stream::Next::kEnd) return CloseStream(at);
    if (next != Stream::Next::kMessage) return;
    const auto* const work = dynamic_cast<const v1::WorkResponse*>(response.get());
    if (work == nullptr) return;
    if (work->has_welcome()) sessions_.push_back(work->welcome().session());
    for (const v1::Assignment& assigned : work->assignments()) {
      WQ_CHECK(seen_.insert(assigned.token()).second, "a token was assigned twice");
      tokens_.push_back(assigned.token());
    }
  }
  static std::unique_ptr<HttpLoop> OpenLoop() {
    std::unique_ptr<HttpLoop> loop;
    WQ_CHECK(HttpLoop::Open({}, &loop).ok(), "no loop");
    return loop;
  }
  // The rest of the input is the body of a request.
  void CallByHttp() {
    const Method& method = *calls_[in_.Byte() % calls_.size()];
    std::string body;
    while (in_.more() && body.size() < 2000) body += static_cast<char>(in_.Byte());
    const std::string request = "POST " + method.path +
                                " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                "Content-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    int ends[2];
    WQ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no sockets");
    const FileDescriptor client(ends[0]);
    FileDescriptor server(ends[1]);
    WQ_CHECK(send(client.get(), request.data(), request.size(), 0) ==
                 static_cast<ssize_t>(request.size()),
             "a request does not fit");
    shutdown(client.get(), SHUT_WR);
    static const std::unique_ptr<HttpLoop> loop = OpenLoop();
    loop->Serve(std::move(server), &http_);
    std::string answer;  // Until the loop has closed its end.
    char buffer[4096];
    for (ssize_t n = 1; n > 0;) {
      n = recv(client.get(), buffer, sizeof(buffer), 0);
      answer.append(buffer, n > 0 ? static_cast<size_t>(n) : 0);
    }
    WQ_CHECK(answer.starts_with("HTTP/1.1 "), "no answer");
  }
  void Step() {
    const uint8_t byte = in_.Byte();
    if (byte >= 0xF8) return CallByHttp();
    if (byte >= 0xF0)
      return clock_.Advance(std::chrono::microseconds(in_.Number() % 1'000'000'000));
    if (byte % 2 == 0 && !streams_.empty()) return UseStream(byte / 2 % streams_.size());
    const Method& method = *calls_[byte / 2 % calls_.size()];
    method.call != nullptr ? Call(method) : OpenOne(method);
  }

  // --- Checks ---

  void CheckAll() {
    v1::ListWorkersResponse workers;
    hub_->List("", &workers);
    for (const std::string& name : store_->QueueNames()) {
      const Queue* const queue = store_->FindQueue(name);
      if (queue != nullptr) CheckQueue(*queue, name, workers);
    }
  }
  static void CheckQueue(const Queue& queue, const std::string& name,
                         const v1::ListWorkersResponse& workers) {
    const QueueCounts counts = queue.Counts();
    size_t held = 0;
    std::set<std::string> keys;  // Held or queued.
    for (const v1::Worker& worker : workers.workers()) {
      if (worker.queue() != name) continue;
      WQ_CHECK(worker.held_count() <= kMostPlaces, "more keys than any capacity");
      WQ_CHECK(worker.capacity() <= kMostPlaces, "a capacity above the limit");
      held += worker.held_count();
      for (const v1::Worker::Held& one : worker.held()) {
        WQ_CHECK(keys.insert(one.key()).second, "a key is held twice");
      }
    }
    WQ_CHECK(held == counts.processing, "the workers hold another number of keys");
    size_t queued = 0;
    const Status scanned = queue.Scan([&](const KeyInfo& one) {
      queued += one.queued ? 1 : 0;
      WQ_CHECK(!one.queued || keys.insert(std::string(one.key)).second,
               "a queued key is held, or queued twice");
      return true;
    });
    WQ_CHECK(scanned.ok() && queued == counts.queued, "another number of queued keys");
    const std::vector<QuarantinedKey> quarantined = queue.Quarantined();
    WQ_CHECK(quarantined.size() == counts.quarantined, "another number of quarantined keys");
    for (const QuarantinedKey& one : quarantined) {
      WQ_CHECK(keys.count(one.key) == 0, "a quarantined key is queued or held");
    }
  }

  CallInput in_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreAccess> access_;
  std::unique_ptr<WorkHub> hub_;  // Not started: its thread would make the run depend on time.
  MethodTable methods_;
  Http http_{{.not_found = NoSuchMethod,
              .max_request_bytes = 65536,
              .io_timeout = std::chrono::milliseconds(1000)}};
  std::vector<const Method*> calls_;
  std::vector<OpenStream> streams_;
  std::vector<std::string> sessions_;
  std::vector<uint64_t> tokens_;
  std::set<uint64_t> seen_;
};

}  // namespace
}  // namespace wq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wq::fuzz::Services(data, size).Run();
  return 0;
}

// A process of the kill test: a server with a worker of its own, a worker, or an adder. It logs
// what it does (event_log.h) until it is killed.
//
//   server_kill_child server DIR LOG SHARDS BUFFERS
//   server_kill_child worker DIR LOG SEED    half of its answers are durable
//   server_kill_child adder DIR LOG SEED
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/net/socket.h"
#include "tests/server/kill/event_log.h"
#include "tests/support/draw.h"
#include "wq/limiter.h"
#include "wq/live_store.h"
#include "wq/live_worker.h"
#include "wq/queue.h"
#include "wq/server.h"
#include "wq/store.h"
#include "wq/v1/work.grpc.pb.h"

namespace wq::support {
namespace {

using std::chrono::milliseconds;

constexpr const char* kQueue = "keys";
constexpr uint32_t kSharedKeys = 24;  // Added again and again; the others once.

// Most keys are short; one in 16 has up to 4096 bytes.
std::string TextOf(uint32_t number) {
  std::string text = "k" + std::to_string(number);
  if (number % 16 == 7) {
    text.resize(std::max(text.size(), size_t{4096} >> (number / 16 % 12)), '.');
  }
  return text;
}
uint32_t NumberOf(const std::string& key) {
  return static_cast<uint32_t>(std::strtoul(key.c_str() + 1, nullptr, 10));
}

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "server_kill_child: " << what << std::endl;
  std::_Exit(1);
}

struct Process {
  std::string dir;
  EventLog log;
  std::mt19937_64 random;

  uint64_t Below(uint64_t bound) { return random() % bound; }
};

// --- The server ---

// Works on the queue itself, as an embedding program does.
void WorkLocally(Process* process, Queue* queue) {
  std::unique_ptr<Worker> shards;
  if (queue->shards() > 0 && !queue->Join(&shards).ok()) {
    Fail("cannot join");
  }
  Event event{.session = process->log.NewSession()};
  std::string key;
  for (uint64_t n = 0;; ++n) {
    if (!(shards == nullptr ? queue->Get(&key) : shards->Get(&key)).ok()) {
      return;
    }
    event.key = NumberOf(key);
    event.kind = EventKind::kLocalGot;
    event.detail = 0;
    process->log.Add(event);
    const bool done = n % 8 != 0 || process->log.stopping();
    event.kind = EventKind::kLocalEnds;
    event.detail = done ? kDoneDetail : 0;
    process->log.Add(event);
    if (!(done ? queue->Done(key) : queue->PutBack(key)).ok()) {
      event.kind = EventKind::kLocalEndRefused;
      process->log.Add(event);
    }
    // Most keys are for the workers.
    process->log.WaitForSize(process->log.size() + 2 * EventLog::kStride, milliseconds(5));
  }
}

int Serve(Process* process, uint32_t shards, const Buffers& buffers) {
  std::unique_ptr<Store> store;
  StoreOptions store_options{.create_if_missing = true};
  buffers.ApplyTo(&store_options);
  if (Status s = Store::Open(store_options, process->dir, &store); !s.ok()) {
    Fail(s.ToString());
  }
  Queue* queue = nullptr;
  QueueOptions options;
  options.shards = shards;
  options.limiter = std::make_shared<ItemExponentialFailure>(milliseconds(1), milliseconds(8));
  if (Status s = store->OpenQueue(kQueue, options, &queue); !s.ok()) {
    Fail(s.ToString());
  }
  std::unique_ptr<Server> server;
  if (Status s = Server::Open(store.get(), {.control_socket = true}, &server); !s.ok()) {
    Fail(s.ToString());
  }
  process->log.ServerServes();
  WorkLocally(process, queue);
  return 0;
}

// --- Adders ---

int Add(Process* process) {
  while (!process->log.stopping() && !process->log.nearly_full()) {
    const uint32_t servers = process->log.servers();
    std::unique_ptr<LiveStore> live;
    Status s = LiveStore::Connect(process->dir, &live);
    const std::unique_ptr<QueueAccess> access = s.ok() ? live->Access(kQueue, false) : nullptr;
    while (s.ok() && !process->log.stopping() && !process->log.nearly_full()) {
      LiveInfo info;
      s = live->Read(&info);
      if (s.ok() && !info.queues.empty() && info.queues[0].counts.queued > 500) {
        process->log.WaitForSize(process->log.size() + 200, milliseconds(20));
        continue;
      }
      std::vector<Event> events(process->Below(50) == 0 ? DrawSize(&process->random, 500)
                                                        : 1 + process->Below(20));
      std::vector<std::string> texts;
      for (Event& event : events) {
        event.key = process->Below(2) == 0 ? 1 + static_cast<uint32_t>(process->Below(kSharedKeys))
                                           : 1 + kSharedKeys + process->log.NewKey();
        event.kind = EventKind::kAddBegins;
        event.token = process->log.Add(event);
        texts.push_back(TextOf(event.key));
      }
      const std::vector<std::string_view> keys(texts.begin(), texts.end());
      BatchResult result;
      const Durability durability =
          process->Below(4) == 0 ? Durability::kPower : Durability::kProcess;
      s = access->Add(keys, {.durability = durability}, {}, &result);
      for (Event& event : events) {
        if (s.ok()) {
          event.kind = EventKind::kAdded;
          process->log.Add(event);
        }
      }
    }
    process->log.WaitForServerAfter(servers, milliseconds(50));
  }
  return 0;
}

// --- Workers ---

enum class Outcome { kAccepted, kRefused, kUnknown };

// One stream of Work.Work.
class StreamClient {
 public:
  static std::unique_ptr<StreamClient> Connect(const std::string& dir) {
    SocketFile file;
    FileDescriptor fd(-1);
    if (!OpenSocketFile(dir, "control.sock", &file).ok() || !ConnectToFile(file, &fd).ok()) {
      return nullptr;
    }
    auto client = std::make_unique<StreamClient>();
    client->stub_ = v1::Work::NewStub(grpc::CreateInsecureChannelFromFd("localhost", fd.Release()));
    client->stream_ = client->stub_->Work(&client->context_);
    v1::WorkRequest request;
    request.mutable_hello()->set_queue(kQueue);
    request.mutable_hello()->set_name("worker");
    request.mutable_hello()->set_capacity(16);
    v1::WorkResponse welcome;
    if (!client->stream_->Write(request) || !client->stream_->Read(&welcome)) {
      return nullptr;
    }
    client->Keep(welcome);
    return client;
  }
  ~StreamClient() {
    context_.TryCancel();
    if (stream_ != nullptr) {
      static_cast<void>(stream_->Finish());
    }
  }
  // Blocks. False: the stream has ended.
  bool Get(AssignedKey* key) {
    v1::WorkResponse response;
    while (keys_.empty()) {
      if (!stream_->Read(&response)) {
        return false;
      }
      Keep(response);
    }
    return TryGet(key);
  }
  bool TryGet(AssignedKey* key) {
    if (keys_.empty()) {
      return false;
    }
    *key = keys_.front();
    keys_.pop_front();
    return true;
  }
  Outcome Answer(uint64_t token, const WorkAnswer& answer, bool durable) {
    v1::WorkRequest request;
    v1::Answer* const one = request.add_answers();
    one->set_token(token);
    one->set_durability(durable ? v1::DURABILITY_PROCESS : v1::DURABILITY_UNSPECIFIED);
    if (answer.kind == WorkAnswer::Kind::kDone) {
      one->mutable_done();
    } else if (answer.kind == WorkAnswer::Kind::kFailed) {
      one->mutable_failed()->set_error(answer.error);
    } else if (answer.kind == WorkAnswer::Kind::kRequeueAfter) {
      one->mutable_requeue_after()->set_delay_us(answer.delay.count());
    } else {
      one->mutable_give_back();
    }
    v1::WorkResponse response;
    for (bool open = stream_->Write(request); open && stream_->Read(&response);) {
      Keep(response);
      for (const v1::AnswerResult& result : response.results()) {
        if (result.token() != token) {
          Fail("a result for another token");
        }
        return !result.has_error()                                ? Outcome::kAccepted
               : result.error().code() == v1::CODE_NOT_PROCESSING ? Outcome::kRefused
                                                                  : Outcome::kUnknown;
      }
    }
    return Outcome::kUnknown;
  }

 private:
  void Keep(const v1::WorkResponse& response) {
    for (const v1::Assignment& one : response.assignments()) {
      AssignedKey& key = keys_.emplace_back();
      key.key = one.key();
      key.token = one.token();
    }
  }

  grpc::ClientContext context_;
  std::unique_ptr<v1::Work::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkRequest, v1::WorkResponse>> stream_;
  std::deque<AssignedKey> keys_;
};

WorkAnswer RandomAnswer(Process* process) {
  const uint64_t pick = process->log.stopping() ? 0 : process->Below(100);
  return pick < 80   ? WorkAnswer::Done()
         : pick < 87 ? WorkAnswer::Failed("by chance")
         : pick < 94 ? WorkAnswer::RequeueAfter(std::chrono::microseconds(process->Below(4000)))
                     : WorkAnswer::GiveBack();
}

void AnswerOne(Process* process, StreamClient* worker, Event event) {
  const WorkAnswer answer = RandomAnswer(process);
  const bool durable = process->Below(2) == 0;
  event.detail =
      (answer.kind == WorkAnswer::Kind::kDone ? kDoneDetail : 0) | (durable ? kDurableDetail : 0);
  event.kind = EventKind::kAnswerSent;
  process->log.Add(event);
  const Outcome outcome = worker->Answer(event.token, answer, durable);
  if (outcome == Outcome::kUnknown) {
    return;
  }
  event.kind =
      outcome == Outcome::kAccepted ? EventKind::kAnswerAccepted : EventKind::kAnswerRefused;
  process->log.Add(event);
  if (process->Below(16) == 0 &&
      worker->Answer(event.token, WorkAnswer::Done(), false) == Outcome::kAccepted) {
    event.kind = EventKind::kReplayAccepted;
    process->log.Add(event);
  }
}

int Work(Process* process) {
  for (;;) {
    const uint32_t servers = process->log.servers();
    Event event{.kind = EventKind::kSessionBegins, .session = process->log.NewSession()};
    process->log.Add(event);
    const std::unique_ptr<StreamClient> worker = StreamClient::Connect(process->dir);
    if (worker == nullptr) {
      process->log.WaitForServerAfter(servers, milliseconds(50));
      continue;
    }
    std::vector<Event> held;
    AssignedKey key;
    while (held.empty() ? worker->Get(&key) : (worker->TryGet(&key) || true)) {
      if (key.token != 0) {
        event.kind = EventKind::kAssigned;
        event.key = NumberOf(key.key);
        event.token = key.token;
        event.detail = 0;
        process->log.Add(event);
        held.push_back(event);
      }
      if (key.token == 0 || held.size() > process->Below(8)) {
        std::swap(held[process->Below(held.size())], held.back());
        AnswerOne(process, worker.get(), held.back());
        held.pop_back();
      }
      key = {};
    }
  }
}

int Run(int argc, char** argv) {
  const bool server = argc > 1 && std::string_view(argv[1]) == "server";
  if (argc != (server ? 6 : 5)) {
    Fail("usage: see the top of child.cc");
  }
  const std::string_view role = argv[1];
  const uint64_t number = std::strtoull(argv[4], nullptr, 10);
  Process process{argv[2], EventLog(argv[3], false), std::mt19937_64(number)};
  if (server) {
    return Serve(&process, static_cast<uint32_t>(number), Buffers::Parse(argv[5]));
  }
  return role == "adder" ? Add(&process) : Work(&process);
}

}  // namespace
}  // namespace wq::support

int main(int argc, char** argv) { return wq::support::Run(argc, argv); }

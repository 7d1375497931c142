#include "wq/live_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/names.h"
#include "server/socket.h"
#include "server/wire.h"

namespace wq {
namespace {

// The limits of one request: far below what a server accepts, even if every byte has to be escaped.
constexpr size_t kMaxKeysPerRequest = 4096;
constexpr size_t kMaxKeyBytesPerRequest = size_t{512} << 10;

constexpr size_t kMaxAnswerBytes = size_t{64} << 20;

// The number of keys that fit into one request, from the first one on; at least one.
size_t TakeKeys(std::span<const std::string_view> keys) {
  size_t bytes = 0;
  size_t n = 0;
  while (n < keys.size() && n < kMaxKeysPerRequest &&
         (n == 0 || bytes + keys[n].size() <= kMaxKeyBytesPerRequest)) {
    bytes += keys[n++].size();
  }
  return n;
}

// "HTTP/1.1 200 OK\r\n…\r\n\r\nBODY".
bool ParseAnswer(std::string_view answer, int* status, std::string_view* body) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  const size_t end = answer.find("\r\n\r\n");
  if (!answer.starts_with(kVersion) || end == std::string_view::npos) {
    return false;
  }
  const char* const number = answer.data() + kVersion.size();
  *body = answer.substr(end + 4);
  return std::from_chars(number, answer.data() + end, *status).ec == std::errc();
}

}  // namespace

// Opens one connection for each call.
class LiveStore::Connection {
 public:
  Connection(SocketFile file, std::chrono::milliseconds timeout)
      : file_(std::move(file)), timeout_(timeout) {}

  Status Get(const char* path, std::string* body) const {
    return Exchange("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", body);
  }
  Status Post(const char* path, const std::string& json, std::string* body) const {
    return Exchange("POST " + std::string(path) +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        "Content-Length: " +
                        std::to_string(json.size()) + "\r\n\r\n" + json,
                    body);
  }
  Status Connect(FileDescriptor* connection) const { return ConnectToFile(file_, connection); }

 private:
  Status Exchange(const std::string& request, std::string* body) const;

  const SocketFile file_;
  const std::chrono::milliseconds timeout_;
};

Status LiveStore::Connection::Exchange(const std::string& request, std::string* body) const {
  FileDescriptor connection(-1);
  if (Status s = Connect(&connection); !s.ok()) {
    return s;
  }
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  // A server that refuses the request answers before it has read all of it, so the answer is read
  // even if sending fails.
  SendAll(connection.get(), request, deadline);
  std::string answer;
  std::array<char, 16384> buffer;
  ssize_t n = 0;
  while ((n = ReceiveSome(connection.get(), buffer.data(), buffer.size(), deadline)) > 0 &&
         answer.size() < kMaxAnswerBytes) {
    answer.append(buffer.data(), static_cast<size_t>(n));
  }
  int status = 0;
  std::string_view content;
  if (n != 0 || !ParseAnswer(answer, &status, &content)) {
    return Status::IOError("no answer on " + file_.path +
                           ": the process that owns the store has ended, or does not respond");
  }
  *body = content;
  return status == 200 ? Status::Ok() : wire::DecodeError(content);
}

class LiveStore::RemoteAccess final : public QueueAccess {
 public:
  RemoteAccess(std::shared_ptr<const Connection> connection, std::string_view queue, bool create)
      : connection_(std::move(connection)), queue_(queue), create_(create) {}

  Status Add(std::span<const std::string_view> keys, const AddRequest& request,
             BatchResult* result) override {
    *result = {};
    wire::Call call = NewCall();
    call.create = create_;
    call.add = request;
    for (size_t begin = 0; begin == 0 || begin < keys.size();) {
      const size_t n = TakeKeys(keys.subspan(begin));
      std::string answer;
      BatchResult part;
      Status s =
          connection_->Post(wire::kAddPath, wire::EncodeAdd(call, keys.subspan(begin, n)), &answer);
      if (s.ok()) s = wire::DecodeBatch(answer, &part);
      if (!s.ok()) return s;
      result->added += part.added;
      result->deduplicated += part.deduplicated;
      result->held += part.held;
      for (auto& [index, why] : part.refused) {
        if (index >= n) return BadAnswer();
        result->refused.emplace_back(begin + index, std::move(why));
      }
      begin += std::max<size_t>(n, 1);
    }
    return {};
  }

  Status Change(KeyChange change, std::span<const std::string_view> keys, Durability durability,
                ChangeResult* result) override {
    *result = {};
    wire::Call call = NewCall();
    call.change = change;
    call.durability = durability;
    for (size_t begin = 0; begin == 0 || begin < keys.size();) {
      const size_t n = TakeKeys(keys.subspan(begin));
      std::string answer;
      ChangeResult part;
      Status s = connection_->Post(wire::kChangePath,
                                   wire::EncodeChange(call, keys.subspan(begin, n)), &answer);
      if (s.ok()) s = wire::DecodeChanged(answer, &part);
      if (!s.ok()) return s;
      result->done += part.done;
      for (const size_t index : part.absent) {
        if (index >= n) return BadAnswer();
        result->absent.push_back(begin + index);
      }
      begin += std::max<size_t>(n, 1);
    }
    return {};
  }

  Status Pause(std::optional<std::chrono::microseconds> duration) override {
    wire::Call call = NewCall();
    call.pause_for = duration;
    std::string answer;
    return connection_->Post(wire::kPausePath, wire::EncodePause(call), &answer);
  }

  Status Resume(bool* was_paused) override {
    std::string answer;
    Status s = connection_->Post(wire::kResumePath, wire::EncodeResume(NewCall()), &answer);
    return s.ok() ? wire::DecodeResumed(answer, was_paused) : s;
  }

  Status Flush(Durability durability) override {
    wire::Call call;
    call.durability = durability;
    std::string answer;
    return connection_->Post(wire::kFlushPath, wire::EncodeFlush(call), &answer);
  }

 private:
  wire::Call NewCall() const {
    wire::Call call;
    call.queue = queue_;
    return call;
  }
  static Status BadAnswer() {
    return Status::IOError("an invalid answer from the owner of the store");
  }

  const std::shared_ptr<const Connection> connection_;
  const std::string queue_;
  const bool create_;
};

LiveStore::LiveStore(std::shared_ptr<const Connection> connection)
    : connection_(std::move(connection)) {}
LiveStore::~LiveStore() = default;

Status LiveStore::Connect(const std::string& dir, const Options& options,
                          std::unique_ptr<LiveStore>* store) {
  store->reset();
  SocketFile file;
  if (Status s = OpenSocketFile(dir, kControlSocketFile, &file); !s.ok()) {
    return s;
  }
  auto connection = std::make_shared<const Connection>(std::move(file), options.timeout);
  FileDescriptor probe(-1);  // Fails if the file was left by a dead owner.
  if (Status s = connection->Connect(&probe); !s.ok()) {
    return s;
  }
  store->reset(new LiveStore(std::move(connection)));
  return {};
}

Status LiveStore::Read(LiveInfo* info) const {
  std::string answer;
  Status s = connection_->Get(wire::kStorePath, &answer);
  return s.ok() ? wire::DecodeInfo(answer, info) : s;
}

std::unique_ptr<QueueAccess> LiveStore::Access(std::string_view queue, bool create) const {
  return std::make_unique<RemoteAccess>(connection_, queue, create);
}

}  // namespace wq

#include "server/http/http_loop.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/http/http_connection.h"
#include "server/net/executor.h"
#include "server/net/socket.h"

namespace wq {
namespace {

namespace asio = boost::asio;

// Of one read.
constexpr size_t kReadBytes = size_t{64} << 10;

int FamilyOf(int fd) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof(family);
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 ? family : AF_UNSPEC;
}

}  // namespace

class HttpLoop::Impl final : public HttpConnectionHost {
 public:
  explicit Impl(const Options& options)
      : options_(options),
        max_connections_(options.max_connections),
        readings_(options.max_threads, options.max_waiting_bytes),
        changes_(options.max_threads, options.max_waiting_bytes),
        reserve_(1, options.max_waiting_bytes) {}

  Status Start();
  void Serve(FileDescriptor fd, const Http* http);
  void Limit(size_t max_connections) { max_connections_ = max_connections; }
  void Close();
  size_t connections() const { return count_; }

  asio::io_context& io() override { return io_; }
  std::string& buffer() override { return buffer_; }
  bool Run(HttpRun run, size_t bytes, std::function<void()> job) override {
    Executor& executor = run == HttpRun::kReserve  ? reserve_
                         : run == HttpRun::kChange ? changes_
                                                   : readings_;
    return executor.Run(bytes, std::move(job));
  }
  bool CountPartial(size_t before, size_t now) override;
  void SetAwaiting(HttpConnection* connection, bool awaiting) override;
  void SetKnown(HttpConnection* connection) override;
  void Remove(HttpConnection* connection) override;

 private:
  using Connections = std::map<uint64_t, HttpConnection*>;  // The oldest first.
  struct Group {
    size_t count = 0;       // Without the spare ones.
    Connections newcomers;  // Of `count`.
    Connections awaiting;   // Their next request, by the time since when; not the first one.
    Connections spare;
  };

  void Add(FileDescriptor fd, const Http* http);
  static bool CloseOldest(const Connections& connections);
  void CloseAll();

  const Options options_;
  std::atomic<size_t> max_connections_;
  std::atomic<size_t> count_ = 0;
  std::atomic<bool> closed_ = false;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;

  // Used by the loop's thread only.
  std::string buffer_ = std::string(kReadBytes, '\0');
  uint64_t next_id_ = 0;
  bool closing_ = false;
  size_t partial_bytes_ = 0;
  std::unordered_map<HttpConnection*, std::shared_ptr<HttpConnection>> connections_;
  std::map<const Http*, Group> groups_;
  std::map<std::string, Connections> newcomers_;  // By peer.

  // End first, with their jobs.
  Executor readings_;
  Executor changes_;
  Executor reserve_;
};

Status HttpLoop::Impl::Start() {
  try {
    thread_ = std::thread([this] { io_.run(); });
  } catch (const std::system_error& e) {
    return Status::IOError(std::string("no thread: ") + e.what());
  }
  return {};
}

void HttpLoop::Impl::Serve(FileDescriptor fd, const Http* http) {
  if (closed_) {
    return;  // Nothing runs any more.
  }
  asio::post(io_, [this, http, owned = std::make_shared<FileDescriptor>(std::move(fd))] {
    if (!closing_) {
      Add(std::move(*owned), http);
    }
  });
}

void HttpLoop::Impl::Close() {
  closed_ = true;
  if (thread_.joinable()) {
    asio::post(io_, [this] { CloseAll(); });
    thread_.join();
  }
}

// Closes the oldest that may be closed.
bool HttpLoop::Impl::CloseOldest(const Connections& connections) {
  for (const auto& [_, connection] : connections) {
    if (connection->may_be_closed()) {
      connection->Close();  // Changes `connections`.
      return true;
    }
  }
  return false;
}

void HttpLoop::Impl::Add(FileDescriptor fd, const Http* http) {
  HttpConnection::Socket socket(io_);
  boost::system::error_code error;
  socket.assign(asio::generic::stream_protocol(FamilyOf(fd.get()), 0), fd.get(), error);
  if (error) {
    return;
  }
  fd.Release();
  socket.non_blocking(true, error);
  HttpConnection::Place place{
      .id = ++next_id_, .peer = PeerAddress(PeerName(socket.native_handle())), .spare = false};
  Group& group = groups_[http];
  const size_t max = std::max<size_t>(1, max_connections_);
  const auto of_peer = newcomers_.find(place.peer);
  if (of_peer != newcomers_.end() &&
      of_peer->second.size() >= std::max<size_t>(1, std::min(max / 2, options_.max_newcomers))) {
    CloseOldest(of_peer->second);
  }
  place.spare = group.count >= max && !CloseOldest(group.newcomers) && !CloseOldest(group.awaiting);
  if (place.spare && group.spare.size() >= kSpare && !CloseOldest(group.spare)) {
    return;
  }
  const auto connection =
      std::make_shared<HttpConnection>(this, std::move(socket), http, std::move(place));
  connections_.emplace(connection.get(), connection);
  ++count_;
  if (connection->spare()) {
    group.spare.emplace(connection->id(), connection.get());
  } else {
    ++group.count;
    group.newcomers.emplace(connection->id(), connection.get());
    newcomers_[connection->peer()].emplace(connection->id(), connection.get());
  }
  connection->Begin();
}

bool HttpLoop::Impl::CountPartial(size_t before, size_t now) {
  partial_bytes_ += now - before;
  return now <= before || partial_bytes_ <= options_.max_partial_bytes;
}

void HttpLoop::Impl::SetAwaiting(HttpConnection* connection, bool awaiting) {
  Connections& all = groups_[connection->http()].awaiting;
  all.erase(connection->awaiting_since);
  if (awaiting) {
    connection->awaiting_since = ++next_id_;
    all.emplace(connection->awaiting_since, connection);
  }
}

void HttpLoop::Impl::SetKnown(HttpConnection* connection) {
  groups_[connection->http()].newcomers.erase(connection->id());
  const auto of_peer = newcomers_.find(connection->peer());
  if (of_peer != newcomers_.end()) {
    of_peer->second.erase(connection->id());
    if (of_peer->second.empty()) {
      newcomers_.erase(of_peer);
    }
  }
}

void HttpLoop::Impl::Remove(HttpConnection* connection) {
  Group& group = groups_[connection->http()];
  if (group.spare.erase(connection->id()) == 0) {
    --group.count;
    group.awaiting.erase(connection->awaiting_since);
    SetKnown(connection);
  }
  connections_.erase(connection);
  --count_;
  if (closing_ && connections_.empty()) {
    work_.reset();
  }
}

void HttpLoop::Impl::CloseAll() {
  closing_ = true;
  std::vector<std::shared_ptr<HttpConnection>> all;
  for (const auto& [_, connection] : connections_) {
    all.push_back(connection);
  }
  for (const std::shared_ptr<HttpConnection>& connection : all) {
    connection->End();
  }
  if (connections_.empty()) {
    work_.reset();
  }
}

HttpLoop::HttpLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpLoop::~HttpLoop() { Close(); }

Status HttpLoop::Open(const Options& options, std::unique_ptr<HttpLoop>* loop) {
  loop->reset();
  std::unique_ptr<Impl> impl;
  try {
    impl = std::make_unique<Impl>(options);
  } catch (const std::exception& e) {
    return Status::IOError(std::string("no descriptors for HTTP: ") + e.what());
  }
  if (Status s = impl->Start(); !s.ok()) {
    return s;
  }
  loop->reset(new HttpLoop(std::move(impl)));
  return {};
}

void HttpLoop::Serve(FileDescriptor fd, const Http* http) { impl_->Serve(std::move(fd), http); }
void HttpLoop::Limit(size_t max_connections) { impl_->Limit(max_connections); }
void HttpLoop::Close() { impl_->Close(); }
size_t HttpLoop::connections() const { return impl_->connections(); }

}  // namespace wq

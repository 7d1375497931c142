#include "server/http/http_loop.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>
#include <vector>

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

HttpLoop::HttpLoop(const Options& options)
    : options_(options),
      max_connections_(options.max_connections),
      buffer_(kReadBytes, '\0'),
      readings_(options.max_threads, options.max_waiting_bytes),
      changes_(options.max_threads, options.max_waiting_bytes),
      reserve_(1, options.max_waiting_bytes) {}

HttpLoop::~HttpLoop() { Close(); }

Status HttpLoop::Open(const Options& options, std::unique_ptr<HttpLoop>* loop) {
  loop->reset();
  try {
    std::unique_ptr<HttpLoop> made(new HttpLoop(options));
    made->thread_ = std::thread([io = &made->io_] { io->run(); });
    *loop = std::move(made);
  } catch (const std::exception& e) {
    return Status::IOError(std::string("no thread or descriptors for HTTP: ") + e.what());
  }
  return {};
}

void HttpLoop::Serve(FileDescriptor fd, const Http* http) {
  if (closed_) {
    return;  // Nothing runs any more.
  }
  asio::post(io_, [this, http, owned = std::make_shared<FileDescriptor>(std::move(fd))] {
    if (!closing_) {
      Add(std::move(*owned), http);
    }
  });
}

void HttpLoop::Close() {
  closed_ = true;
  if (thread_.joinable()) {
    asio::post(io_, [this] { CloseAll(); });
    thread_.join();
  }
}

// Closes the oldest that may be closed.
bool HttpLoop::CloseOldest(const Connections& connections) {
  for (const auto& [_, connection] : connections) {
    if (connection->may_be_closed()) {
      connection->Close();  // Changes `connections`.
      return true;
    }
  }
  return false;
}

void HttpLoop::Add(FileDescriptor fd, const Http* http) {
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
  HttpConnectionHost* const host = this;
  const auto connection =
      std::make_shared<HttpConnection>(host, std::move(socket), http, std::move(place));
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

bool HttpLoop::Run(HttpRun run, size_t bytes, std::function<void()> job) {
  Executor& executor = run == HttpRun::kReserve  ? reserve_
                       : run == HttpRun::kChange ? changes_
                                                 : readings_;
  return executor.Run(bytes, std::move(job));
}

bool HttpLoop::CountPartial(size_t before, size_t now) {
  partial_bytes_ += now - before;
  return now <= before || partial_bytes_ <= options_.max_partial_bytes;
}

void HttpLoop::SetAwaiting(HttpConnection* connection, bool awaiting) {
  Connections& all = groups_[connection->http()].awaiting;
  all.erase(connection->awaiting_since);
  if (awaiting) {
    connection->awaiting_since = ++next_id_;
    all.emplace(connection->awaiting_since, connection);
  }
}

void HttpLoop::SetKnown(HttpConnection* connection) {
  groups_[connection->http()].newcomers.erase(connection->id());
  const auto of_peer = newcomers_.find(connection->peer());
  if (of_peer != newcomers_.end()) {
    of_peer->second.erase(connection->id());
    if (of_peer->second.empty()) {
      newcomers_.erase(of_peer);
    }
  }
}

void HttpLoop::Remove(HttpConnection* connection) {
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

void HttpLoop::CloseAll() {
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

}  // namespace wq

#include "server/net/connection_threads.h"

#include <sys/socket.h>

#include <iterator>
#include <system_error>
#include <utility>

namespace wq {

ConnectionThreads::ConnectionThreads(size_t limit, std::function<void(int fd)> serve)
    : limit_(limit), serve_(std::move(serve)) {}

ConnectionThreads::~ConnectionThreads() { Close(); }

bool ConnectionThreads::Begin(FileDescriptor* fd) {
  std::list<Connection> ended;
  bool begun = false;
  {
    const MutexLock lock(mu_);
    for (auto it = connections_.begin(); it != connections_.end();) {
      const auto next = std::next(it);
      if (!it->fd.valid()) {
        ended.splice(ended.end(), connections_, it);
      }
      it = next;
    }
    if (connections_.size() < limit_) {
      Connection& connection = connections_.emplace_back();
      const int number = fd->get();
      try {
        connection.thread = std::thread([this, &connection, number] {
          serve_(number);
          // Closed here: an ended thread may wait for a long time until it is joined.
          const MutexLock thread_lock(mu_);
          const FileDescriptor closed = std::move(connection.fd);
        });
        connection.fd = std::move(*fd);
        begun = true;
      } catch (const std::system_error&) {
        connections_.pop_back();
      }
    }
  }
  Join(&ended);
  return begun;
}

void ConnectionThreads::Close() {
  std::list<Connection> rest;
  {
    const MutexLock lock(mu_);
    for (const Connection& connection : connections_) {
      if (connection.fd.valid()) {
        shutdown(connection.fd.get(), SHUT_RD);
      }
    }
    rest.swap(connections_);
  }
  Join(&rest);
}

void ConnectionThreads::Join(std::list<Connection>* ended) {
  for (Connection& connection : *ended) {
    connection.thread.join();
  }
}

}  // namespace wq

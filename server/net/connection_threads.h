// ConnectionThreads: serves connections, each by a thread of its own, up to a limit.
// Threading: thread-safe; Close is called once, last.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <thread>

#include "base/files.h"
#include "base/mutex.h"

namespace wq {

class ConnectionThreads {
 public:
  // `serve` returns soon after shutdown(2) of the reading side, and does not close the descriptor.
  ConnectionThreads(size_t limit, std::function<void(int fd)> serve);
  ~ConnectionThreads();
  ConnectionThreads(const ConnectionThreads&) = delete;
  ConnectionThreads& operator=(const ConnectionThreads&) = delete;

  // False: the limit is reached, or the system has no thread left. Then *fd is unchanged.
  bool Begin(FileDescriptor* fd) WQ_EXCLUDES(mu_);
  // Shuts down the reading sides. Blocks: until all threads have ended.
  void Close() WQ_EXCLUDES(mu_);

 private:
  struct Connection {
    FileDescriptor fd{-1};  // Invalid: the thread ends, and is to be joined.
    std::thread thread;
  };
  void Join(std::list<Connection>* ended);

  const size_t limit_;
  const std::function<void(int fd)> serve_;
  Mutex mu_;
  std::list<Connection> connections_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq

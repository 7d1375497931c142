// ViewServer: shows a store that no server serves on a live page, and changes nothing of it.
//
//   std::unique_ptr<wq::ViewServer> server;
//   wq::Status s = wq::ViewServer::Open("/var/lib/pods.wq", {.http_address = "127.0.0.1:8080"},
//                                       &server);
//
// In the library wq_server. The store may have an owner, may be closed, or may have crashed: it is
// read as StoreView reads it, so keys that are processing are shown as queued, and what an owner has
// only in memory is not seen. The page says when the store was read. It has no workers and no rates;
// its charts are those that the last server of the store has measured. docs/ui.md is the reference.
//
// With a page open the store is read again every 2 s, or less often if that takes long; otherwise it
// is not read, and nothing wakes up.
// Threading: thread-safe. A crash: leaves nothing behind.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "wq/status.h"

namespace wq {

struct ViewServerOptions {
  // As ServerOptions has them. A page for other machines needs a token.
  std::string http_address = {};
  bool http_any_address = false;
  std::string token_file = {};
  size_t max_http_connections = 256;
  std::chrono::milliseconds io_timeout{10'000};
};

class ViewServer {
 public:
  // NotFound, Corruption, NotSupported: as StoreView::Open. InvalidArgument, IOError: as
  // Server::Open.
  static Status Open(const std::string& dir, const ViewServerOptions& options,
                     std::unique_ptr<ViewServer>* server);
  ~ViewServer();  // Closes.
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  // Ends all connections. Idempotent. Blocks: until the running calls have returned.
  void Close();
  int http_port() const;

  struct Impl;

 private:
  explicit ViewServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace wq

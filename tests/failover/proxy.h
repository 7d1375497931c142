// Proxy: a TCP proxy on 127.0.0.1 in front of one port, which can stop to forward in one direction:
// the bytes stay unread, and no connection is closed, as when a network loses packets one way.
//
//   Proxy proxy(port);
//   options.endpoints = {proxy.endpoint()};
//   proxy.Cut(Proxy::Way::kToClient, true);
//
// Threading: thread-safe; it has one thread. Lifetime: of one test. A crash: does not concern it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace wq::failover {

class Proxy {
 public:
  enum class Way : uint8_t { kToServer = 0, kToClient = 1 };

  explicit Proxy(const std::string& server);  // "127.0.0.1:PORT"
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // Also of connections that are made later.
  void Cut(Way way, bool cut) { cut_[static_cast<int>(way)] = cut; }

 private:
  void Run();

  int listener_ = -1;
  int port_ = 0;
  int server_port_ = 0;
  std::atomic<bool> cut_[2] = {false, false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace wq::failover

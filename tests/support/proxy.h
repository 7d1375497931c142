// Proxy: passes the bytes of connections on, until a test holds them back, in one direction or
// both, as a network does that loses packets: no connection is closed, and none is refused.
//
//   Proxy proxy(listener, [] { return ConnectToTheServer(); });
//   proxy.Cut(Proxy::Way::kToServer, true);
//
// Thread-safe; it has one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace wq::support {

class Proxy {
 public:
  enum class Way : uint8_t { kToServer = 0, kToClient = 1 };

  // Owns the listening socket. `connect` returns a new connection to the server; -1: there is none.
  Proxy(int listener, std::function<int()> connect);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Also of connections that are made later. It takes effect within 10 ms, as Break does.
  void Cut(Way way, bool cut) { cut_[static_cast<int>(way)] = cut; }
  void Break() { breaking_ = true; }  // Closes all connections.

 private:
  void Run();

  const int listener_;
  const std::function<int()> connect_;
  std::atomic<bool> cut_[2] = {false, false};
  std::atomic<bool> breaking_ = false;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace wq::support

// Server and Connection: a peer's program on loopback, and one client of it.
//
//   Server server("/usr/bin/beanstalkd", [&](uint16_t port) { return arguments; });
//   Connection connection(server.port());
//   connection.Send("put 0 0 60 1\r\nk\r\n");
//   std::string reply = connection.ReadLine();      // "INSERTED 1"
//
// A failure ends the process; the one that started it kills the server (see Child::Group).
// Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/process.h"

namespace wq::bench {

// Started on a port that was free; killed with the object.
class Server {
 public:
  using Arguments = std::function<std::vector<std::string>(uint16_t port)>;
  // Blocks: until it takes connections.
  Server(const std::string& program, const Arguments& arguments);

  uint16_t port() const { return port_; }

 private:
  const uint16_t port_;
  Child child_;
};

// The path of `program`, as a shell would find it, or in the directories of system programs.
// Ends the process if it is not installed.
std::string FindProgram(const std::string& program);

// Both peers speak lines that end in CR LF.
class Connection {
 public:
  explicit Connection(uint16_t port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(std::string_view bytes);
  std::string ReadLine();  // Without its end. Blocks.

 private:
  const int socket_;
  std::string read_;  // From the socket, from at_ on not yet given out.
  size_t at_ = 0;
};

}  // namespace wq::bench

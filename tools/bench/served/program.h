// Connection: a client of another program on loopback.
//
//   Connection connection(port);
//   connection.Send("GET / HTTP/1.1\r\n\r\n");
//   std::string reply = connection.ReadLine();
//
// A failure ends the process; its parent then kills the program (see Child::Group).
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wq::bench {

// A port of loopback that was free: it was bound and closed again.
uint16_t FreePort();

// The path of `program`, by PATH or in the directories of system programs. If it is not installed,
// ends the process with a message that says what installs it.
std::string FindProgram(const std::string& program, const std::string& installed_by);

// A connection by a protocol of lines that end in CR LF, such as HTTP.
class Connection {
 public:
  explicit Connection(uint16_t port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(std::string_view bytes);
  std::string ReadLine();               // Without the CR LF. Blocks.
  std::string ReadBytes(size_t count);  // Blocks.
  size_t Skip();  // Reads what has come, and returns its bytes. Blocks until some have.
  int socket() const { return socket_; }

 private:
  void Receive();  // Appends to read_.

  const int socket_;
  std::string read_;  // Bytes from the socket; those before at_ were returned.
  size_t at_ = 0;
};

}  // namespace wq::bench

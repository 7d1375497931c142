// Answers the requests of one connection with an Http and a loop, and is its client.
#pragma once

#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "server/http/http.h"
#include "server/http/http_loop.h"
#include "tests/server/server_fixture.h"
#include "tests/support/wait.h"

namespace wq {

struct ReceivedReply {
  int status = 0;
  std::string head;  // With the status line.
  std::string body;  // Empty if the answer is chunked.
};

class HttpClient {
 public:
  explicit HttpClient(const Http& http) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = FileDescriptor(ends[0]);
    EXPECT_TRUE(HttpLoop::Open({}, &loop_).ok());
    loop_->Serve(FileDescriptor(ends[1]), &http);
  }
  ~HttpClient() { CloseEnd(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  int fd() const { return client_.get(); }
  bool Send(const std::string& bytes) { return SendAll(fd(), bytes, ServerFixture::Soon()); }
  static std::string PostOf(const std::string& path, const std::string& body,
                            const std::string& headers = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  ReceivedReply Post(const std::string& path, const std::string& body,
                     const std::string& headers = "") {
    Send(PostOf(path, body, headers));
    return Reply();
  }
  ReceivedReply Ask(const std::string& request) {
    Send(request);
    return Reply();
  }

  // The next answer. Status 0: the connection was closed.
  ReceivedReply Reply() {
    ReceivedReply reply;
    while (!reply.head.ends_with("\r\n\r\n")) {
      const std::string byte = Read(1);
      if (byte.empty()) {
        return {};
      }
      reply.head += byte;
    }
    reply.status = StatusOf(reply.head);
    const size_t length = reply.head.find("\r\nContent-Length: ");
    if (length != std::string::npos) {
      reply.body = Read(static_cast<size_t>(std::atoi(reply.head.c_str() + length + 18)));
    }
    return reply;
  }
  // The next chunk of an answer; "" at its end, "CLOSED" if the connection ends before.
  std::string Chunk() {
    std::string size;
    while (!size.ends_with("\r\n")) {
      const std::string byte = Read(1);
      if (byte.empty()) {
        return "CLOSED";
      }
      size += byte;
    }
    const size_t bytes = std::strtoul(size.c_str(), nullptr, 16);
    std::string chunk = Read(bytes);
    EXPECT_EQ(Read(2), "\r\n");
    return chunk;
  }
  void EndSending() const { shutdown(fd(), SHUT_WR); }
  void CloseEnd() { client_ = FileDescriptor(-1); }
  // Until the server has closed its end.
  void Join() const {
    EXPECT_TRUE(support::Eventually([&] { return loop_->connections() == 0; }));
  }

 private:
  std::string Read(size_t size) const {
    std::string all;
    while (all.size() < size) {
      char buffer[4096];
      const ssize_t n = ReceiveSome(fd(), buffer, std::min(sizeof(buffer), size - all.size()),
                                    ServerFixture::Soon());
      if (n <= 0) {
        return "";
      }
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }

  FileDescriptor client_{-1};
  std::unique_ptr<HttpLoop> loop_;
};

}  // namespace wq

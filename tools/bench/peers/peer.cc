#include "tools/bench/peers/peer.h"

#include <cstdlib>
#include <filesystem>

#include "tools/bench/bench.h"
#include "tools/bench/peers/server.h"

namespace wq::bench {
namespace {

// beanstalkd with a binlog: https://github.com/beanstalkd/beanstalkd/blob/master/doc/protocol.txt
class Beanstalkd final : public Peer {
 public:
  Beanstalkd(const std::string& dir, PeerSync sync)
      : server_(FindProgram("beanstalkd"),
                [&](uint16_t port) -> std::vector<std::string> {
                  return {"-l", "127.0.0.1", "-p", std::to_string(port),
                          "-b", dir,         "-f", sync == PeerSync::kSoon ? "50" : "0"};
                }),
        connection_(server_.port()) {}

  void Take(size_t count) override {
    std::string requests;
    for (size_t i = 0; i < count; ++i) {
      requests += "reserve\r\n";
    }
    connection_.Send(requests);
    requests.clear();
    for (size_t i = 0; i < count; ++i) {
      const std::string reserved =
          connection_.ReadLine();  // "RESERVED <id> <bytes>", then the key.
      Require(reserved.starts_with("RESERVED "), "beanstalkd: " + reserved);
      static_cast<void>(connection_.ReadLine());
      requests += "delete " + reserved.substr(9, reserved.find(' ', 9) - 9) + "\r\n";
    }
    connection_.Send(requests);
    for (size_t i = 0; i < count; ++i) {
      const std::string deleted = connection_.ReadLine();
      Require(deleted == "DELETED", "beanstalkd: " + deleted);
    }
  }

  size_t Len() override {
    connection_.Send("stats-tube default\r\n");
    const std::string ok = connection_.ReadLine();
    Require(ok.starts_with("OK "), "beanstalkd: " + ok);
    const std::string stats = connection_.ReadLine();  // All lines of it, which end in LF alone.
    const std::string name = "current-jobs-ready: ";
    const size_t at = stats.find(name);
    Require(at != std::string::npos, "beanstalkd does not report the number of ready jobs");
    return std::strtoull(stats.c_str() + at + name.size(), nullptr, 10);
  }

 protected:
  void AppendPut(std::string_view key, std::string* request) override {
    request->append("put 0 0 60 ").append(std::to_string(key.size())).append("\r\n");
    request->append(key).append("\r\n");
  }

  void SendPuts(const std::string& requests, size_t count) override {
    connection_.Send(requests);
    for (size_t i = 0; i < count; ++i) {
      const std::string reply = connection_.ReadLine();
      Require(reply.starts_with("INSERTED "), "beanstalkd: " + reply);
    }
  }

 private:
  Server server_;
  Connection connection_;
};

// A list of queued keys, and a list of keys in processing:
// https://redis.io/docs/latest/commands/lmove/
class Redis final : public Peer {
 public:
  Redis(const std::string& dir, PeerSync sync)
      : server_(FindProgram("redis-server"),
                [&](uint16_t port) -> std::vector<std::string> {
                  return {"--port",        std::to_string(port),
                          "--bind",        "127.0.0.1",
                          "--dir",         dir,
                          "--save",        "",
                          "--logfile",     dir + "/log",
                          "--appendonly",  "yes",
                          "--appendfsync", sync == PeerSync::kSoon ? "everysec" : "always"};
                }),
        connection_(server_.port()) {}

  void Take(size_t count) override {
    std::string requests;
    for (size_t i = 0; i < count; ++i) {
      requests += Request({"LMOVE", "queue", "processing", "RIGHT", "LEFT"});
    }
    connection_.Send(requests);
    requests.clear();
    for (size_t i = 0; i < count; ++i) {
      const std::string size = connection_.ReadLine();  // "$<bytes>", then the key.
      Require(size.starts_with("$") && size != "$-1", "redis: " + size);
      requests += Request({"LREM", "processing", "1", connection_.ReadLine()});
    }
    connection_.Send(requests);
    for (size_t i = 0; i < count; ++i) {
      const std::string removed = connection_.ReadLine();
      Require(removed == ":1", "redis: " + removed);
    }
  }

  size_t Len() override {
    connection_.Send(Request({"LLEN", "queue"}));
    const std::string reply = connection_.ReadLine();
    Require(reply.starts_with(":"), "redis: " + reply);
    return std::strtoull(reply.c_str() + 1, nullptr, 10);
  }

 protected:
  void AppendPut(std::string_view key, std::string* request) override {
    request->append(Request({"LPUSH", "queue", key}));
  }

  void SendPuts(const std::string& requests, size_t count) override {
    connection_.Send(requests);
    for (size_t i = 0; i < count; ++i) {
      const std::string reply = connection_.ReadLine();
      Require(reply.starts_with(":"), "redis: " + reply);
    }
  }

 private:
  static std::string Request(const std::vector<std::string_view>& words) {
    std::string request = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
      request.append("$").append(std::to_string(word.size())).append("\r\n");
      request.append(word).append("\r\n");
    }
    return request;
  }

  Server server_;
  Connection connection_;
};

}  // namespace

std::unique_ptr<Peer> StartBeanstalkd(const std::string& dir, PeerSync sync) {
  std::filesystem::create_directory(dir);
  return std::make_unique<Beanstalkd>(dir, sync);
}

std::unique_ptr<Peer> StartRedis(const std::string& dir, PeerSync sync) {
  std::filesystem::create_directory(dir);
  return std::make_unique<Redis>(dir, sync);
}

}  // namespace wq::bench

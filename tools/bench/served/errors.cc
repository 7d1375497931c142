#include "tools/bench/served/errors.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/bench/bench.h"
#include "tools/bench/served/program.h"
#include "tools/bench/subjects.h"
#include "wq/limiter.h"
#include "wq/server.h"

namespace wq::bench {
namespace {

// As those of a client that loses its connection: they differ by numbers only.
std::string ErrorOf(size_t i) {
  return "dial tcp 10." + std::to_string(i % 251) + "." + std::to_string(i % 241) +
         ".7:443: connect: connection refused, attempt " + std::to_string(i);
}

// Of one request and its answer.
double TimeGroupErrors(const wq::Server& server, size_t failing) {
  const std::string body = R"({"queue":")" + std::string(kQueueName) + R"("})";
  Connection connection(static_cast<uint16_t>(server.http_port()));
  const Stopwatch watch;
  connection.Send(
      "POST /wq.v1.Browse/GroupErrors HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string status = connection.ReadLine();
  Require(status == "HTTP/1.1 200 OK", "GroupErrors over HTTP: " + status);
  constexpr std::string_view kLength = "Content-Length: ";
  size_t length = 0;
  for (std::string line = connection.ReadLine(); !line.empty(); line = connection.ReadLine()) {
    if (line.starts_with(kLength)) {
      length = std::stoul(line.substr(kLength.size()));
    }
  }
  const std::string answer = connection.ReadBytes(length);
  const double seconds = watch.Seconds();
  Require(answer.find(R"("keys":")" + std::to_string(failing)) != std::string::npos, answer);
  return seconds;
}

}  // namespace

void MeasureErrors(Bench& bench) {
  const size_t failing = bench.settings().keys * 6 / 5;
  const std::string first = "GroupErrors of " + std::to_string(failing) + " failing keys";
  const std::string next = first + ", again";
  bench.Alternate({[&](const std::string&) {
    const Subject subject = Subject::Open("", {.limiter = std::make_shared<ItemExponentialFailure>(
                                                   std::chrono::hours(1), std::chrono::hours(1))});
    for (size_t i = 0; i < failing; ++i) {
      const std::string key = "failing-" + std::to_string(i);
      Require(subject.queue->AddRateLimited(key, ErrorOf(i)), "AddRateLimited");
    }
    std::unique_ptr<wq::Server> server;
    Require(wq::Server::Open(subject.store.get(), {.http_address = "127.0.0.1:0", .page = true},
                             &server),
            "Server::Open");
    bench.Note(first, kSeconds, TimeGroupErrors(*server, failing));
    bench.Note(next, kSeconds, TimeGroupErrors(*server, failing));
  }});
  bench.Want({.what = "server: " + first, .figure = first, .at_most = true, .bound = 2});
  bench.Want({.what = "server: " + next, .figure = next, .at_most = true, .bound = 0.2});
}

}  // namespace wq::bench

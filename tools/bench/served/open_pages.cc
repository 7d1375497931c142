#include "tools/bench/served/open_pages.h"

#include <poll.h>

#include <chrono>

#include "tools/bench/bench.h"

namespace wq::bench {
namespace {

using std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::seconds(2);
constexpr const char* kAsk =
    "POST /wq.v1.Browse/GetOverview HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

}  // namespace

OpenPages::OpenPages(uint16_t http_port, size_t pages) {
  for (size_t i = 0; i < pages; ++i) {
    pages_.push_back(std::make_unique<Connection>(http_port));
    pages_.back()->Send(kAsk);
  }
  for (const std::unique_ptr<Connection>& page : pages_) {
    Require(page->ReadLine() == "HTTP/1.1 200 OK", "the server serves no page");
  }
  reader_ = std::thread([this] { Read(); });
}

OpenPages::~OpenPages() {
  closing_ = true;
  reader_.join();
}

void OpenPages::Read() {
  std::vector<pollfd> waiting;
  for (const std::unique_ptr<Connection>& page : pages_) {
    waiting.push_back({.fd = page->socket(), .events = POLLIN, .revents = 0});
  }
  auto next = steady_clock::now() + kInterval;
  while (!closing_) {
    if (steady_clock::now() >= next) {
      next += kInterval;
      for (const std::unique_ptr<Connection>& page : pages_) {
        page->Send(kAsk);
      }
    }
    Require(poll(waiting.data(), waiting.size(), 100) >= 0, "poll");
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) {
        bytes_ += pages_[i]->Skip();
      }
    }
  }
}

}  // namespace wq::bench

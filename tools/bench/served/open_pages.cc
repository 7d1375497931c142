#include "tools/bench/served/open_pages.h"

#include <poll.h>

#include "tools/bench/bench.h"

namespace wq::bench {

OpenPages::OpenPages(uint16_t http_port, size_t pages) {
  for (size_t i = 0; i < pages; ++i) {
    pages_.push_back(std::make_unique<Connection>(http_port));
    pages_.back()->Send("GET /ui/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
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
  while (!closing_) {
    Require(poll(waiting.data(), waiting.size(), 100) >= 0, "poll");
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) {
        bytes_ += pages_[i]->Skip();
      }
    }
  }
}

}  // namespace wq::bench

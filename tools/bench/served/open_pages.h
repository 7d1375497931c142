// OpenPages: live pages of a server that are open in browsers.
//
//   const OpenPages pages(server->http_port(), 50);
//   …                                              // What is measured.
//   Require(pages.bytes() > 0, "…");
//
// One thread asks for the overview of each page every two seconds. A failure ends the process.
// Thread-compatible.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tools/bench/served/program.h"

namespace wq::bench {

class OpenPages {
 public:
  // Blocks until each page has got bytes.
  OpenPages(uint16_t http_port, size_t pages);
  ~OpenPages();  // Closes the pages.
  OpenPages(const OpenPages&) = delete;
  OpenPages& operator=(const OpenPages&) = delete;

  size_t bytes() const { return bytes_; }  // That the pages have got since the constructor.

 private:
  void Read();

  std::vector<std::unique_ptr<Connection>> pages_;
  std::atomic<bool> closing_ = false;
  std::atomic<size_t> bytes_ = 0;
  std::thread reader_;
};

}  // namespace wq::bench

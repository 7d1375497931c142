// The process of the memory test: it adds keys to a store until it has no memory left, and prints
// the number of each acknowledged key on a line.
//
//   memory_child DIR BYTES KEY_BYTES
//
// BYTES is the address space that it may take once the store is open. Ends by itself at the first
// error, with status 3 (4: an exception, which would leave a change half made) and without closing
// the store, or as the lack of memory ends it.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

// False: the limit cannot be set.
bool LimitMemory(rlim_t spare_bytes) {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;  // Of the address space.
  rlimit limit = {};
  if (pages == 0 || getrlimit(RLIMIT_AS, &limit) != 0) {
    return false;
  }
  limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + spare_bytes;
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

int Main(const char* dir, rlim_t spare_bytes, size_t key_bytes) {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  Status status = Store::Open({.create_if_missing = true}, dir, &store);
  if (status.ok()) {
    status = store->OpenQueue("q", {}, &queue);
  }
  if (!status.ok() || !LimitMemory(spare_bytes)) {
    std::cerr << status.ToString() << "\n";
    return 2;
  }
  for (int i = 0;; ++i) {
    const std::string number = std::to_string(i);
    const std::string key = number + ":" + std::string(key_bytes, 'k');
    try {
      if (!queue->Add(key).ok()) {
        _exit(3);
      }
    } catch (...) {
      _exit(4);
    }
    const std::string line = number + "\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      _exit(0);  // The parent has ended.
    }
  }
}

}  // namespace
}  // namespace wq

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: memory_child DIR BYTES KEY_BYTES\n";
    return 2;
  }
  return wq::Main(argv[1], std::strtoull(argv[2], nullptr, 10),
                  std::strtoull(argv[3], nullptr, 10));
}

// Adds a key, waits until it is in the history, and works until it is killed.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "wq/history.h"
#include "wq/queue.h"
#include "wq/store.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  wq::StoreOptions options;
  options.create_if_missing = true;
  options.history_bytes = size_t{8} << 20;
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
  wq::KeyHistory history;
  if (!wq::Store::Open(options, argv[1], &store).ok() || !store->OpenQueue("q", {}, &queue).ok() ||
      !queue->Add("flushed").ok() || !store->History("q", "flushed", 0, &history).ok()) {
    return 1;
  }
  std::puts("flushed");
  std::fflush(stdout);
  for (uint64_t i = 0; i < 20'000; ++i) {  // With more the history would lose the first one.
    if (!queue->Add("key-" + std::to_string(i % 1000)).ok()) return 1;
  }
  for (;;) pause();
}

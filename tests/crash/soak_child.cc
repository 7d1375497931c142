// The process that the soak test measures. It adds, gets, fails and forgets keys of a fixed set, as
// fast as it can, and reports a line for every 1000 calls.
//
//   soak_child DIR SEED      ends when it is killed, or with status 3 and a message

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "tests/support/draw.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace {

constexpr uint64_t kKeys = 5000;

wq::Status Churn(wq::Queue* queue, std::mt19937_64* random) {
  using std::chrono::milliseconds;
  const uint64_t number = (*random)() % kKeys;
  // One in 100 is long.
  const std::string key =
      wq::support::KeyOf(number, number % 100 == 0 ? size_t{4096} >> (number / 100 % 12) : 1);
  switch ((*random)() % 10) {
    case 0:
      return queue->AddAfter(key, milliseconds((*random)() % 2000));
    case 1:
      return queue->AddRateLimited(key, "an error of the usual length, with a cause in it");
    case 2:
      return queue->Forget(key);
    case 3:
    case 4:
    case 5:
      return queue->Add(key, {.lane = (*random)() % 2 == 0 ? wq::kFastLane : wq::kSlowLane});
    default: {
      std::string held;
      wq::Status s = queue->GetFor(milliseconds(0), &held);
      return s.ok()                                  ? queue->Done(held)
             : s.code() == wq::StatusCode::kTimedOut ? wq::Status::Ok()
                                                     : s;
    }
  }
}

int Main(const char* dir, uint64_t seed) {
  std::mt19937_64 random(seed);
  wq::StoreOptions options;
  options.create_if_missing = true;
  options.write_buffer_bytes = size_t{256} << 10;
  options.max_wal_bytes = size_t{1} << 20;
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
  wq::Status s = wq::Store::Open(options, dir, &store);
  if (s.ok()) {
    s = store->OpenQueue("q",
                         {.order = wq::Order::kTwoLanes,
                          .max_requeues = 5,
                          .quarantined_add = wq::QuarantinedAdd::kRelease},
                         &queue);
  }
  for (uint64_t calls = 1; s.ok(); ++calls) {
    s = Churn(queue, &random);
    if (calls % 1000 == 0 && write(STDOUT_FILENO, "n\n", 2) != 2) {
      _exit(0);  // The parent has ended.
    }
  }
  std::cerr << s.ToString() << "\n";
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: soak_child DIR SEED\n";
    return 2;
  }
  return Main(argv[1], std::strtoull(argv[2], nullptr, 10));
}

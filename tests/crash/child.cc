// The process that the kill test kills: random calls on a store, each reported on stdout, where a
// pipe is, as "b" when it begins and "a <result>" when it has returned.
//
//   kill_child DIR SEED SKIP WALL_US DURABILITY     calls SKIP+1, SKIP+2, ... of CallSource(SEED)
//
// Ends when it is killed, or with status 3 and a message when the store cannot be opened.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/model/call_source.h"
#include "tests/model/real_queue.h"

namespace wq::model {
namespace {

void Report(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    _exit(0);  // The parent is gone.
  }
}

int Main(char** argv) {
  const std::string dir = argv[1];
  const QueueOptions rules{.order = Order::kTwoLanes, .max_requeues = 3};
  CallSource source(rules, std::strtoull(argv[2], nullptr, 10));
  for (uint64_t skip = std::strtoull(argv[3], nullptr, 10); skip > 0; --skip) {
    source.Next();
  }
  RealQueue queue(rules, std::strtoll(argv[4], nullptr, 10));
  StoreOptions options;
  options.create_if_missing = true;
  options.clock = queue.clock();
  options.write_buffer_bytes = size_t{64} << 10;  // Flushes and compactions are to happen.
  options.max_wal_bytes = size_t{256} << 10;
  std::unique_ptr<Store> store;
  Status s = Store::Open(options, dir, &store);
  if (s.ok()) {
    s = queue.Use(std::move(store), static_cast<Durability>(std::atoi(argv[5])));
  }
  if (!s.ok()) {
    std::cerr << s.ToString() << "\n";
    return 3;
  }
  for (;;) {
    Call call = source.Next();
    if (call.op == Op::kCrash) {
      call.op = Op::kGet;  // Crashes come from outside here.
    }
    Report("b\n");
    Report("a " + queue.Do(call) + "\n");
  }
}

}  // namespace
}  // namespace wq::model

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: kill_child DIR SEED SKIP WALL_US DURABILITY\n";
    return 2;
  }
  return wq::model::Main(argv);
}

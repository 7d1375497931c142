// The process that the kill test kills: random calls on a store, reported on stdout, where a pipe is:
//
//   o             the store is about to be opened
//   r             it has recovered
//   b             a call begins
//   a RESULT      it has returned
//
//   kill_child DIR SEED WALL_US DURABILITY      the calls of StoreSource(SEED)
//
// Ends when it is killed, or with status 3 and a message when the store cannot be opened.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/support/real_store.h"
#include "tests/support/store_calls.h"

namespace wq::support {
namespace {

void Report(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    _exit(0);  // The parent is gone.
  }
}

int Main(char** argv) {
  const std::vector<QueueRules> rules = AllPolicies();
  StoreSource source(rules, std::strtoull(argv[2], nullptr, 10), {});
  RealStore store(rules, std::strtoll(argv[3], nullptr, 10));
  Report("o\n");
  if (Status s = store.Open(argv[1], static_cast<Durability>(std::atoi(argv[4]))); !s.ok()) {
    std::cerr << s.ToString() << "\n";
    return 3;
  }
  Report("r\n");
  for (;;) {
    const StoreCall call = source.Next();
    Report("b\n");
    Report("a " + store.Do(call) + "\n");
  }
}

}  // namespace
}  // namespace wq::support

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: kill_child DIR SEED WALL_US DURABILITY\n";
    return 2;
  }
  return wq::support::Main(argv);
}

// The process that the kill test kills. It makes random calls on a store, and reports them on its
// stdout, a pipe:
//
//   o             the store is about to be opened
//   r             the store has recovered
//   b             a call begins
//   a RESULT      the call has returned
//
//   kill_child DIR SEED WALL_US DURABILITY N BUFFERS sound|failing [LIMIT]
//
// The calls are those of StoreSource(SEED), on the queues of PoliciesOf(N), for a disk that works
// or fails. BUFFERS are those of draw.h. Ends when it is killed, or with status 3 and a message if
// the store cannot be opened. With LIMIT no file may grow beyond LIMIT bytes once the store is
// open, and it ends with status 0 after 100 calls that were not durable.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/draw.h"
#include "tests/support/oracle.h"
#include "tests/support/real_store.h"
#include "tests/support/store_calls.h"

namespace wq::support {
namespace {

void Report(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    _exit(0);  // The parent has ended.
  }
}

// Limits the size of files during its lifetime. Ends with the store, so that a coverage build can
// write its counters afterwards.
class FileLimit {
 public:
  explicit FileLimit(const char* bytes) {
    signal(SIGXFSZ, SIG_IGN);  // EFBIG instead.
    Set(std::strtoull(bytes, nullptr, 10));
  }
  ~FileLimit() { Set(before_.rlim_max); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  void Set(rlim_t most) {
    if (getrlimit(RLIMIT_FSIZE, &before_) != 0) {
      _exit(4);
    }
    const rlimit limit = {.rlim_cur = most, .rlim_max = before_.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      _exit(4);
    }
  }
  rlimit before_ = {};
};

int Main(int argc, char** argv) {
  std::optional<FileLimit> limit;  // Destroyed after the store.
  const std::vector<QueueRules> rules = PoliciesOf(std::strtoull(argv[5], nullptr, 10));
  StoreSource source(rules, std::strtoull(argv[2], nullptr, 10),
                     {.disk_fails = std::string_view(argv[7]) == "failing"});
  RealStore store(rules, std::strtoll(argv[3], nullptr, 10));
  Report("o\n");
  if (Status s =
          store.Open(argv[1], static_cast<Durability>(std::atoi(argv[4])), Buffers::Parse(argv[6]));
      !s.ok()) {
    std::cerr << s.ToString() << "\n";
    return 3;
  }
  Report("r\n");
  const bool limited = argc > 8;
  if (limited) {
    limit.emplace(argv[8]);
  }
  for (int refused = 0; !limited || refused < 100;) {
    const StoreCall call = source.Next();
    Report("b\n");
    const std::string said = store.Do(call);
    Report("a " + Packed(said) + "\n");
    refused += said == kNotDurable ? 1 : 0;
  }
  return 0;
}

}  // namespace
}  // namespace wq::support

int main(int argc, char** argv) {
  if (argc < 8 || argc > 9) {
    std::cerr << "usage: kill_child DIR SEED WALL_US DURABILITY N BUFFERS sound|failing [LIMIT]\n";
    return 2;
  }
  return wq::support::Main(argc, argv);
}

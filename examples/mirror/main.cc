// mirror SRC DST --store DIR: keeps the directory DST equal to the directory SRC.
//
//   Source (this thread)               Queue                      Reconciler (the workers)
//   inotify ------- fast lane ---->  relative paths,  ---------> compares SRC/path with DST/path
//   scans --------- slow lane ---->  each at most once           and makes DST/path equal
//           \------ cursor ------->  and a cursor      <-------- what it finds missing; failures
//
// A key names a path that may differ, never what happened to it. So the mirror may be killed at any
// instant: pending keys are pending at the next start, and a repeated reconcile changes nothing.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "options.h"
#include "reconciler.h"
#include "source.h"
#include "tree.h"
#include "wq/controller.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace mirror {
namespace {

int Fail(const std::string& why) {
  std::fprintf(stderr, "mirror: %s\n", why.c_str());
  return 1;
}

// Prints the lines that a reader of the output may wait for.
class Reports {
 public:
  void Scan(const ScanCounts& scan) {
    if (scan.number == scans_) {
      return;
    }
    scans_ = scan.number;
    std::printf("scan seen=%lu added=%lu from=%s\n", scan.seen, scan.added,
                scan.from_cursor ? "cursor" : "nothing");
    std::fflush(stdout);
  }
  void Idle(uint64_t reconciled, size_t quarantined) {
    if (!first_ && reconciled == reconciled_) {
      return;
    }
    first_ = false;
    reconciled_ = reconciled;
    std::printf("idle reconciled=%lu failed=%zu\n", reconciled, quarantined);
    std::fflush(stdout);
  }

 private:
  uint64_t scans_ = 0;
  uint64_t reconciled_ = 0;
  bool first_ = true;
};

// Runs until a signal or an error, or with --once until no path needs work. Returns the exit code.
int Serve(const Options& options, const wq::Store& store, const wq::Queue& queue,
          const std::atomic<uint64_t>& reconciled, Source* source, int signals) {
  Reports reports;
  for (int wait_ms = 0;;) {
    std::array<pollfd, 2> ready = {{{.fd = signals, .events = POLLIN, .revents = 0},
                                    {.fd = source->fd(), .events = POLLIN, .revents = 0}}};
    poll(ready.data(), ready.size(), wait_ms);
    if (ready[0].revents != 0) {
      return 0;
    }
    wq::Status s = source->Step();
    if (s.ok()) {
      s = store.Health();
    }
    if (!s.ok()) {
      return Fail(s.ToString());
    }
    wait_ms = 0;
    if (!source->is_current()) {
      continue;
    }
    reports.Scan(source->counts());
    const wq::QueueCounts counts = queue.Counts();
    if (counts.queued + counts.processing > 0) {
      wait_ms = 10;
    } else if (counts.delayed > 0) {
      wait_ms = options.once ? 10 : 1000;
    } else {
      reports.Idle(reconciled, counts.quarantined);
      if (options.once) {
        return counts.quarantined == 0 ? 0 : 1;
      }
      wait_ms = -1;
    }
  }
}

// The identity that the cursor is valid for: these directories, and this boot. (Without a power cut
// the target has everything that was written to it. After one it may lack what was not on the
// disk.)
std::string Identity(int source, int target) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string text = "1 " + boot;
  for (const int fd : {source, target}) {
    struct stat st = {};
    fstat(fd, &st);
    text += " " + std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino);
  }
  return text;
}

wq::Status OpenQueue(wq::Store* store, bool once, wq::Queue** queue) {
  using namespace std::chrono_literals;
  wq::QueueOptions options;
  options.order = wq::Order::kTwoLanes;
  options.re_add = wq::ReAdd::kRaisesLane;  // A scan does not move a live event to the slow lane.
  options.starvation_bound = 16;
  options.max_key_bytes = wq::kMaxKeyBytes;
  // No call waits for the disk. A kill loses the last calls, and the cursor is in order with them:
  // the scan at the next start adds again what changed after it.
  options.durability = wq::Durability::kAsync;
  options.limiter = std::make_shared<wq::ItemExponentialFailure>(10ms, 30s);
  options.max_requeues = once ? 5 : 0;
  options.quarantined_add = wq::QuarantinedAdd::kRelease;
  wq::Status s = store->OpenQueue("mirror", options, queue);
  if (s.ok()) {
    for (const wq::QuarantinedKey& key : (*queue)->Quarantined()) {
      s = s.ok() ? (*queue)->Release(key.key) : s;  // Quarantined by a run with --once.
    }
  }
  return s;
}

// Returns SIGTERM and SIGINT as a descriptor, and blocks them in this thread and later ones.
Fd BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return Fd(signalfd(-1, &set, SFD_CLOEXEC));
}

int Run(const Options& options) {
  const Fd signals = BlockSignals();
  const Fd from(open(options.source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(open(options.target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!signals.ok() || !from.ok() || !to.ok()) {
    return Fail(std::strerror(errno));
  }
  std::unique_ptr<wq::Store> store;
  wq::Queue* queue = nullptr;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, options.store, &store);
  if (s.ok()) {
    s = OpenQueue(store.get(), options.once, &queue);
  }
  if (!s.ok()) {
    return Fail(s.ToString());
  }
  Reconciler reconciler(from.get(), to.get(), queue);
  Source source(from.get(), Identity(from.get(), to.get()), options.slack, queue);
  s = reconciler.Open();
  if (s.ok()) {
    s = source.Start(!options.rescan);
  }
  if (!s.ok()) {
    return Fail(s.ToString());
  }
  std::atomic<uint64_t> reconciled = 0;
  const auto reconcile = [&](const wq::ReconcileContext& context) -> wq::Result {
    ++reconciled;
    wq::Status result = reconciler.Reconcile(context.key(), context.stop_token());
    if (!result.ok() && result.code() != wq::StatusCode::kShuttingDown) {
      Fail(result.message());
    }
    return result;
  };
  wq::Controller controller(queue, reconcile, {.max_concurrent_reconciles = options.workers});
  s = controller.Start();
  if (!s.ok()) {
    return Fail(s.ToString());
  }
  const int code = Serve(options, *store, *queue, reconciled, &source, signals.get());
  // A running copy is cancelled; its key, and all queued keys, stay in the store.
  s = controller.Stop(std::chrono::minutes(1));
  if (s.ok()) {
    s = store->Close();
  }
  reconciler.Close();
  return s.ok() ? code : Fail(s.ToString());
}

}  // namespace
}  // namespace mirror

int main(int argc, char** argv) {
  std::optional<mirror::Options> options = mirror::ParseOptions(argc, argv);
  if (!options.has_value()) {
    return 2;
  }
  const std::string error = mirror::Resolve(&*options);
  return error.empty() ? mirror::Run(*options) : mirror::Fail(error);
}

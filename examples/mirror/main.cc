// mirror SRC DST --store DIR: keeps the directory DST equal to the directory SRC.
//
//   Watcher (this thread)              Queue                      Reconciler (the workers)
//   inotify ------- fast lane ---->  relative paths,  ---------> compares SRC/path with DST/path
//   lists --------- slow lane ---->  each at most once           and makes DST/path equal
//           \---- versions ------->  and a wq::Source  <-------- what it finds missing; failures
//
// A key names a path that may differ, never what happened to it. So the mirror may be killed at any
// instant: pending keys are pending at the next start, and a repeated reconcile changes nothing. A
// start reconciles only what has changed since then.
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
#include "tree.h"
#include "watcher.h"
#include "wq/controller.h"
#include "wq/limiter.h"
#include "wq/queue.h"
#include "wq/source.h"
#include "wq/store.h"

namespace mirror {
namespace {

constexpr char kObjects[] = "paths";

int Fail(const std::string& why) {
  std::fprintf(stderr, "mirror: %s\n", why.c_str());
  return 1;
}

// Runs until a signal or an error, or with --once until no path needs work. Returns the exit code.
int Serve(const Options& options, const wq::Store& store, const wq::Queue& queue,
          const std::atomic<uint64_t>& reconciled, Watcher* watcher, int signals) {
  std::optional<uint64_t> reported;  // That so many were reconciled.
  for (int wait_ms = 0;;) {
    std::array<pollfd, 2> ready = {{{.fd = signals, .events = POLLIN, .revents = 0},
                                    {.fd = watcher->fd(), .events = POLLIN, .revents = 0}}};
    poll(ready.data(), ready.size(), wait_ms);
    if (ready[0].revents != 0) {
      return 0;
    }
    wq::Status s = watcher->Step();
    if (s.ok()) {
      s = store.Health();
    }
    if (!s.ok()) {
      return Fail(s.ToString());
    }
    wait_ms = watcher->is_scanning() ? 0 : 1;
    if (!watcher->is_current()) {
      continue;
    }
    const wq::QueueCounts counts = queue.Counts();
    if (counts.queued + counts.processing > 0) {
      wait_ms = 10;
    } else if (counts.delayed > 0) {
      wait_ms = options.once ? 10 : 1000;
    } else {
      if (reported != reconciled) {
        reported = reconciled;
        std::printf("idle reconciled=%lu failed=%zu\n", *reported, counts.quarantined);
        std::fflush(stdout);
      }
      if (options.once) {
        return counts.quarantined == 0 ? 0 : 1;
      }
      wait_ms = -1;
    }
  }
}

// What the rows of the source are valid for, its fingerprint: these directories, and this boot.
// (Without a power cut the target has everything that was written to it. After one it may lack what
// was not on the disk.)
std::string Identity(int source, int target) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string text = boot;
  for (const int fd : {source, target}) {
    struct stat st = {};
    fstat(fd, &st);
    text += " " + std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino);
  }
  return text;
}

wq::Status OpenQueue(wq::Store* store, const Options& run, wq::Queue** queue, wq::Source* objects) {
  using namespace std::chrono_literals;
  wq::QueueOptions options;
  options.order = wq::Order::kTwoLanes;
  options.re_add = wq::ReAdd::kRaisesLane;  // A scan does not move a live event to the slow lane.
  options.starvation_bound = 16;
  options.max_key_bytes = wq::kMaxKeyBytes;
  // No call waits for the disk. A kill loses the last calls, rows with their Adds: the list at the
  // next start makes them again.
  options.durability = wq::Durability::kAsync;
  options.limiter = std::make_shared<wq::ItemExponentialFailure>(10ms, 30s);
  options.max_requeues = run.once ? 5 : 0;
  options.quarantined_add = wq::QuarantinedAdd::kRelease;
  wq::Status s = store->OpenQueue("mirror", options, queue);
  if (s.ok()) {
    for (const wq::QuarantinedKey& key : (*queue)->Quarantined()) {
      s = s.ok() ? (*queue)->Release(key.key) : s;  // Quarantined by a run with --once.
    }
  }
  if (s.ok() && run.rescan) {
    s = (*queue)->RemoveSource(kObjects);
    s = s.code() == wq::StatusCode::kNotFound ? wq::Status::Ok() : s;
  }
  return s.ok() ? (*queue)->OpenSource(kObjects, objects) : s;
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
  wq::Source objects;
  wq::Status s = wq::Store::Open({.create_if_missing = true}, options.store, &store);
  if (s.ok()) {
    s = OpenQueue(store.get(), options, &queue, &objects);
  }
  if (!s.ok()) {
    return Fail(s.ToString());
  }
  Reconciler reconciler(from.get(), to.get(), queue, objects);
  Watcher watcher(from.get(), Identity(from.get(), to.get()), queue, objects);
  s = reconciler.Open();
  if (s.ok()) {
    s = watcher.Start();
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
  const int code = Serve(options, *store, *queue, reconciled, &watcher, signals.get());
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

// The process that the failover tests kill, stop, and make resign: a replica of a store. While it
// owns the store, it adds keys and works on them; it reports on stdout, a pipe that all replicas
// share, one write for each line:
//
//   NAME b EPOCH                      it owns the store, and its queue is open
//   NAME e EPOCH                      that ownership has ended, and no thread uses it any more
//   NAME a KEY                        an Add at kReplicated was acknowledged
//   NAME g EPOCH BEFORE AFTER KEY     a Get was called at BEFORE, and returned at AFTER with KEY
//   NAME d EPOCH KEY                  Done will be called
//   NAME f EPOCH KEY                  Done was called, and then a Flush at kReplicated was Ok
//   NAME r EPOCH E N                  the cursor is the Nth of epoch E, at the begin of EPOCH
//   NAME c EPOCH N                    this cursor was written, and a Flush at kReplicated was Ok
//   NAME m                            SIGUSR2 was obeyed
//   NAME x MESSAGE                    a call returned what it must not return
//
//   failover_child PARENT DIR NAME ENDPOINTS PREFIX LEASE_MS
//
// Times are microseconds of CLOCK_BOOTTIME; KEY is NAME-EPOCH-NUMBER, and never added twice.
// SIGUSR1: resigns. SIGUSR2: adds no more keys; and the second one: adds keys again, and works on
// none. SIGTERM: closes the store, and ends with status 0.
// It ends with its parent, the process PARENT.

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "wq/clock.h"
#include "wq/etcd_log.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::failover {
namespace {

using namespace std::chrono_literals;

constexpr int kAdders = 2;
constexpr int kWorkers = 3;
constexpr uint64_t kFlushEach = 16;  // So many Dones.

constexpr size_t kCursorBytes = 62'000;

enum class Mode : uint8_t { kBoth, kWorkOnly, kAddOnly };

std::string name;  // NOLINT: set once, by main.

void Report(const std::string& what) {
  const std::string line = name + " " + what + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    _exit(0);  // The parent has ended.
  }
}

int64_t NowUs() { return Clock::System()->SteadyUs(); }

// What the threads of one ownership share.
class Session {
 public:
  Session(Store* store, Queue* queue, uint64_t epoch, const std::atomic<Mode>* mode)
      : store_(store), queue_(queue), epoch_(epoch), mode_(mode) {}

  // Works until the ownership ends.
  void Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kAdders; ++i) {
      threads.emplace_back([this, i] { Add(i); });
    }
    for (int i = 0; i < kWorkers; ++i) {
      threads.emplace_back([this, i] { Work(i); });
    }
    threads.emplace_back([this] { MoveCursor(); });
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

 private:
  // False: the ownership has ended, so the thread is to end.
  bool Check(const Status& s, std::string_view call, std::string_view key) {
    switch (s.code()) {
      case StatusCode::kOk:
      case StatusCode::kNotDurable:
        return true;
      case StatusCode::kNotOwner:
      case StatusCode::kShuttingDown:
        End();
        return false;
      default:
        Report("x " + std::string(call) + " " + std::string(key) + ": " + s.ToString());
        return true;
    }
  }

  void Add(int thread) {
    std::minstd_rand random(static_cast<unsigned>(epoch_) * 8 + static_cast<unsigned>(thread));
    for (uint64_t n = static_cast<uint64_t>(thread);; n += kAdders) {
      if (mode_->load() != Mode::kWorkOnly) {
        const std::string key = name + "-" + std::to_string(epoch_) + "-" + std::to_string(n);
        // Some keys only for this machine: a failover may lose them, or bring them back.
        const bool replicated = n % 8 != 3;
        const Status s = queue_->Add(
            key, {.durability = replicated ? Durability::kReplicated : Durability::kProcess});
        if (s.ok() && replicated) {
          Report("a " + key);
        }
        if (!Check(s, "Add", key)) {
          return;
        }
      }
      if (!Wait(std::chrono::milliseconds(2 + random() % 8))) {
        return;
      }
    }
  }

  void Work(int thread) {
    std::minstd_rand random(static_cast<unsigned>(epoch_) * 8 + 4 + static_cast<unsigned>(thread));
    for (uint64_t dones = 0;;) {
      if (mode_->load() == Mode::kAddOnly) {
        if (!Wait(50ms)) return;
        continue;
      }
      std::string key;
      const int64_t before_us = NowUs();
      const Status got = queue_->GetFor(50ms, &key);
      const int64_t after_us = NowUs();
      if (got.code() == StatusCode::kTimedOut) {
        continue;
      }
      if (!Check(got, "Get", "")) {
        return;
      }
      if (!got.ok()) {
        if (!Wait(10ms)) return;
        continue;
      }
      Report("g " + std::to_string(epoch_) + " " + std::to_string(before_us) + " " +
             std::to_string(after_us) + " " + key);
      // Most are done at once; some are held for so long that a fault finds them held.
      if (random() % 16 == 0 && !Wait(std::chrono::milliseconds(random() % 100))) {
        return;
      }
      Report("d " + std::to_string(epoch_) + " " + key);
      if (!Check(queue_->Done(key), "Done", key)) {
        return;
      }
      if (++dones % kFlushEach == 0) {
        const Status flushed = queue_->Flush(Durability::kReplicated);
        if (flushed.ok()) {
          Report("f " + std::to_string(epoch_) + " " + key);
        }
        if (!Check(flushed, "Flush", key)) {
          return;
        }
      }
    }
  }

  // So large that the changes written with it do not fit into one entry of the log.
  static std::string CursorOf(uint64_t epoch, uint64_t n) {
    const std::string part = std::to_string(epoch) + " " + std::to_string(n) + " ";
    std::string cursor;
    while (cursor.size() < kCursorBytes) cursor += part;
    return cursor;
  }

  void MoveCursor() {
    std::string cursor;
    const Status got = queue_->GetCursor("source", &cursor);
    if (got.ok()) {
      std::istringstream words(cursor);
      uint64_t epoch = 0;
      uint64_t n = 0;
      words >> epoch >> n;
      Report((cursor == CursorOf(epoch, n) ? "r " : "x a mixed cursor: ") + std::to_string(epoch_) +
             " " + std::to_string(epoch) + " " + std::to_string(n));
    } else if (got.code() == StatusCode::kNotFound) {
      Report("r " + std::to_string(epoch_) + " 0 0");
    } else {
      Check(got, "GetCursor", "");
    }
    for (uint64_t n = 1; Wait(50ms); ++n) {
      if (mode_->load() == Mode::kWorkOnly) {
        continue;
      }
      Status s = queue_->SetCursor("source", CursorOf(epoch_, n));
      if (s.ok()) s = queue_->Flush(Durability::kReplicated);
      if (s.ok()) Report("c " + std::to_string(epoch_) + " " + std::to_string(n));
      if (!Check(s, "SetCursor", std::to_string(n))) {
        return;
      }
    }
  }

  void End() WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    ended_ = true;
    cv_.NotifyAll();
  }

  // False: the ownership has ended.
  bool Wait(std::chrono::milliseconds time) WQ_EXCLUDES(mu_) {
    const auto until = std::chrono::steady_clock::now() + time;
    const MutexLock lock(mu_);
    while (!ended_ && cv_.WaitUntil(mu_, until)) {
    }
    return !ended_ && store_->Epoch() == epoch_;
  }

  Store* const store_;
  Queue* const queue_;
  const uint64_t epoch_;
  const std::atomic<Mode>* const mode_;
  Mutex mu_;
  CondVar cv_;
  bool ended_ WQ_GUARDED_BY(mu_) = false;
};

// Owns the store, again and again, until it is closed.
void Lead(Store* store, const std::atomic<Mode>* mode) {
  for (;;) {
    const Status led = store->WaitForLeadership();
    if (led.code() == StatusCode::kShuttingDown) {
      return;
    }
    const uint64_t epoch = store->Epoch();
    Queue* queue = nullptr;
    const Status opened = store->OpenQueue("pods", {}, &queue);
    // Another ownership may have ended and begun between the calls: then the next call says so.
    if (!opened.ok() || epoch == 0 || store->Epoch() != epoch) {
      const bool ended = opened.ok() || opened.code() == StatusCode::kNotOwner ||
                         opened.code() == StatusCode::kShuttingDown ||
                         opened.code() == StatusCode::kNotDurable;
      if (!ended) {
        Report("x OpenQueue: " + opened.ToString());
        return;
      }
      std::this_thread::yield();
      continue;
    }
    Report("b " + std::to_string(epoch));
    Session(store, queue, epoch, mode).Run();
    Report("e " + std::to_string(epoch));
  }
}

Status Open(char** argv, std::unique_ptr<Store>* store) {
  EtcdOptions etcd;
  std::string_view endpoints = argv[4];
  while (!endpoints.empty()) {
    const size_t comma = std::min(endpoints.find(','), endpoints.size());
    etcd.endpoints.emplace_back(endpoints.substr(0, comma));
    endpoints.remove_prefix(std::min(comma + 1, endpoints.size()));
  }
  etcd.prefix = argv[5];
  Replication replication;
  if (Status s = OpenEtcdLog(etcd, &replication.log); !s.ok()) {
    return s;
  }
  replication.name = argv[3];
  replication.lease = std::chrono::milliseconds(std::strtoull(argv[6], nullptr, 10));
  replication.write_timeout = 3000ms;
  return Store::Open({.create_if_missing = true, .replication = replication}, argv[2], store);
}

Mode NextMode(Mode mode) { return mode == Mode::kBoth ? Mode::kWorkOnly : Mode::kAddOnly; }

int Main(char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(argv[1])) {
    return 1;
  }
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGUSR1, SIGUSR2, SIGTERM}) {
    sigaddset(&signals, each);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Of all threads: main waits for them.
  name = argv[3];
  std::unique_ptr<Store> store;
  const timespec retry = {.tv_sec = 0, .tv_nsec = 100'000'000};
  std::atomic<Mode> mode{Mode::kBoth};
  for (Status s = Open(argv, &store); !s.ok(); s = Open(argv, &store)) {
    if (s.code() != StatusCode::kIOError) {  // etcd may be away.
      Report("x Open: " + s.ToString());
      return 3;
    }
    const int signal = sigtimedwait(&signals, nullptr, &retry);
    if (signal == SIGTERM) {
      return 0;
    }
    if (signal == SIGUSR2) {
      mode = NextMode(mode);
      Report("m");
    }
  }
  std::thread leader([&] { Lead(store.get(), &mode); });
  for (int signal = 0; signal != SIGTERM;) {
    signal = sigwaitinfo(&signals, nullptr);
    if (signal == SIGUSR1) {
      const Status s = store->Resign();
      if (!s.ok() && s.code() != StatusCode::kNotOwner && s.code() != StatusCode::kNotDurable) {
        Report("x Resign: " + s.ToString());
      }
    } else if (signal == SIGUSR2) {
      mode = NextMode(mode);
      Report("m");
    }
  }
  const Status closed = store->Close();
  leader.join();
  if (!closed.ok() && closed.code() != StatusCode::kNotOwner) {
    Report("x Close: " + closed.ToString());
  }
  return 0;
}

}  // namespace
}  // namespace wq::failover

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: failover_child PARENT DIR NAME ENDPOINTS PREFIX LEASE_MS\n";
    return 2;
  }
  return wq::failover::Main(argv);
}

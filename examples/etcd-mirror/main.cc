// etcd_mirror ETCD PREFIX TARGET --store DIR --log PREFIX --replica NAME [--lease SECONDS]
//
// Keeps a file in the directory TARGET for each key of ETCD ("host:port") below PREFIX. Run it on
// several machines, each with a store of its own: one of them works, and another one goes on when
// it ends. This is the shape of a Kubernetes controller, against the server below Kubernetes.
//
//   Source (a thread)                     Queue                      Reconciler (the workers)
//   list, once -----> keys ----------->  keys, each at  ---------->  reads the key from etcd, and
//   watch ----------> keys ----------->  most once, and              makes the file equal
//         \---------> revision ------->  a cursor
//
// The cursor is written after the keys of its revision, and the queue keeps that order: so the next
// owner watches from the cursor on, and misses no event. It lists only if there is no cursor, or if
// etcd has compacted that revision.
#include <signal.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gateway.h"
#include "target.h"
#include "wq/controller.h"
#include "wq/etcd_log.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace etcd_mirror {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCursor = "revision";

struct Arguments {
  std::string etcd;
  std::string prefix;
  std::string target;
  std::map<std::string, std::string> options = {{"--lease", "5"}};
};

bool Parse(int argc, char** argv, Arguments* arguments) {
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--")) {
      if (i + 1 == argc) return false;
      arguments->options[argument] = argv[++i];
    } else {
      places.push_back(argument);
    }
  }
  if (places.size() != 3) return false;
  arguments->etcd = places[0];
  arguments->prefix = places[1];
  arguments->target = places[2];
  return arguments->options.contains("--store") && arguments->options.contains("--log") &&
         arguments->options.contains("--replica");
}

// Lists the source: every key of it, and every key that only the target has.
wq::Status List(const Arguments& arguments, const Target& target, wq::Queue* queue,
                int64_t* revision) {
  KeyRange range;
  wq::Status s = Gateway(arguments.etcd).Read(arguments.prefix, true, &range);
  std::vector<std::string> keys;
  if (s.ok()) s = target.Keys(&keys);
  if (!s.ok()) return s;
  for (KeyRange::Entry& entry : range.entries) keys.push_back(std::move(entry.key));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  s = queue->AddBatch(views);
  if (s.ok()) s = queue->SetCursor(kCursor, std::to_string(range.revision));
  *revision = range.revision;
  std::fprintf(stderr, "listed %zu keys at revision %ld\n", keys.size(),
               static_cast<long>(range.revision));
  return s;
}

// Adds what changes in the source, until the ownership ends: NotOwner.
wq::Status Watch(const Arguments& arguments, const Target& target, wq::Queue* queue,
                 const std::atomic<bool>& stop) {
  int64_t revision = 0;
  std::string cursor;
  if (queue->GetCursor(kCursor, &cursor).ok()) {
    std::from_chars(cursor.data(), cursor.data() + cursor.size(), revision);
    std::fprintf(stderr, "watching from revision %ld\n", static_cast<long>(revision + 1));
  }
  wq::Status s;
  while (!stop && s.code() != wq::StatusCode::kNotOwner &&
         s.code() != wq::StatusCode::kShuttingDown) {
    if (revision == 0) {
      s = List(arguments, target, queue, &revision);
      continue;
    }
    s = Gateway(arguments.etcd).Watch(arguments.prefix, revision + 1, [&](const Events& events) {
      if (stop) return wq::Status::ShuttingDown("stopped");
      const std::vector<std::string_view> keys(events.keys.begin(), events.keys.end());
      wq::Status added = queue->AddBatch(keys);
      if (added.ok()) added = queue->SetCursor(kCursor, std::to_string(events.revision));
      if (added.ok()) revision = events.revision;
      return added;
    });
    if (s.code() == wq::StatusCode::kNotFound) revision = 0;
  }
  return s;
}

// Works for the length of one ownership.
wq::Status Own(const Arguments& arguments, wq::Store* store, Target* target,
               const std::atomic<bool>& stop) {
  wq::Queue* queue = nullptr;
  wq::Status s = store->OpenQueue("keys", {.durability = wq::Durability::kReplicated}, &queue);
  if (!s.ok()) return s;
  std::fprintf(stderr, "owner, epoch %lu\n", static_cast<unsigned long>(store->Epoch()));
  wq::Controller controller(queue,
                            [&](const wq::ReconcileContext& context) -> wq::Result {
                              KeyRange read;
                              wq::Status status =
                                  Gateway(arguments.etcd).Read(context.key(), false, &read);
                              if (!status.ok()) return status;
                              std::optional<std::string> value;
                              if (!read.entries.empty()) value = std::move(read.entries[0].value);
                              return target->Apply(context.key(), value, read.revision);
                            },
                            {.max_concurrent_reconciles = 4});
  s = controller.Start();
  if (s.ok()) s = Watch(arguments, *target, queue, stop);
  const wq::Status stopped = controller.Stop(10s);
  return s.ok() ? stopped : s;
}

wq::Status Run(const Arguments& arguments, const std::atomic<bool>& stop) {
  Target target(arguments.target);
  wq::Status s = target.Open();
  std::shared_ptr<wq::ReplicatedLog> log;
  const auto option = [&](const char* name) { return arguments.options.at(name); };
  if (s.ok()) {
    s = wq::OpenEtcdLog({.endpoints = {arguments.etcd}, .prefix = option("--log")}, &log);
  }
  const wq::Replication replication = {
      .log = log,
      .name = option("--replica"),
      .lease = std::chrono::seconds(std::strtol(option("--lease").c_str(), nullptr, 10))};
  std::unique_ptr<wq::Store> store;
  if (s.ok()) {
    s = wq::Store::Open({.create_if_missing = true, .replication = replication}, option("--store"),
                        &store);
  }
  while (s.ok() && !stop) {
    s = store->WaitForLeadership(1s);
    if (s.ok()) s = Own(arguments, store.get(), &target, stop);
    if (s.code() == wq::StatusCode::kTimedOut || s.code() == wq::StatusCode::kNotOwner) s = {};
  }
  return stop ? store->Close() : s;
}

}  // namespace
}  // namespace etcd_mirror

int main(int argc, char** argv) {
  etcd_mirror::Arguments arguments;
  if (!etcd_mirror::Parse(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: etcd_mirror ETCD PREFIX TARGET --store DIR --log PREFIX --replica NAME "
                 "[--lease SECONDS]\n");
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Before any thread begins.
  std::atomic<bool> stop{false};
  std::atomic<bool> ended{false};
  std::thread waiter([&] {
    const timespec wait = {.tv_sec = 0, .tv_nsec = 200'000'000};
    while (!ended) {
      if (sigtimedwait(&signals, nullptr, &wait) > 0) stop = true;
    }
  });
  const wq::Status s = etcd_mirror::Run(arguments, stop);
  ended = true;
  waiter.join();
  if (!s.ok()) std::fprintf(stderr, "etcd_mirror: %s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}

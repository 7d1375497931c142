// wqctl workers: which workers hold which keys of a store that a running process serves.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/output.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/live_store.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kWorkersExamples =
    R"(A worker is a program that a process which serves the store assigns keys to: a wqctl work,
or a client in any language. The owner's own work is a line without a peer: how many keys it
holds. HELD is how many keys a worker holds of how many that it can hold at once; OLDEST is since
when it holds the oldest one. DONE and FAILED count its answers since it has connected. -o wide
has a line for each key, with the token of its assignment.

Examples:
  wqctl workers
  wqctl workers -q pods -o wide
  wqctl workers --watch
  wqctl workers -o json | jq '.[] | select(.held_count > 0)')";

constexpr std::chrono::seconds kWatchInterval{1};

struct WorkersArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Format format = Format::kTable;
  bool watch = false;
  Show show;
  std::string owner;  // "process 4711"; set by Connect.
};

// The owner as a worker: it holds the keys of a queue that no worker of the service holds.
void AddOwner(const WorkersArgs& args, const wq::LiveInfo& info,
              std::vector<wq::LiveWorkerInfo>* workers) {
  std::map<std::string, uint64_t> held;
  for (const wq::LiveWorkerInfo& worker : *workers) held[worker.queue] += worker.held_count;
  for (const wq::LiveQueue& queue : info.queues) {
    // The two were not read at the same time.
    if ((args.queue && *args.queue != queue.name) || queue.counts.processing <= held[queue.name])
      continue;
    wq::LiveWorkerInfo owner;
    owner.queue = queue.name;
    owner.name = "owner, " + args.owner;
    owner.held_count = queue.counts.processing - held[queue.name];
    workers->push_back(std::move(owner));
  }
}

// NotFound: no store, or no such queue. Locked: the store's owner does not serve it, or there is
// none.
wq::Status Connect(WorkersArgs* args, std::unique_ptr<wq::LiveStore>* live) {
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  if (wq::Status s = ViewQueues(args->store_dir, args->queue, &view, &names); !s.ok()) return s;
  args->owner = view->DescribeOwner();
  wq::Status s = wq::LiveStore::Connect(args->store_dir, live);
  if (s.code() != wq::StatusCode::kNotFound) return s;
  if (!view->info().owner_alive) {
    return wq::Status::NotFound("no process serves the store " +
                                wq::EscapeKey(args->store_dir, 4096) +
                                ": it has no workers; see wqctl serve and wqctl work");
  }
  return wq::Status::Locked("the store is owned by " + args->owner + kServesNothing);
}

wq::Status ReadWorkers(const WorkersArgs& args, const wq::LiveStore& live,
                       std::vector<wq::LiveWorkerInfo>* workers) {
  wq::LiveInfo info;
  if (wq::Status s = live.Workers(args.queue.value_or(""), workers); !s.ok()) return s;
  if (wq::Status s = live.Read(&info); !s.ok()) return s;
  AddOwner(args, info, workers);
  return {};
}

// The row of the worker, in a wide table of the i-th key that it holds.
std::vector<std::string> CellsOf(const WorkersArgs& args, const wq::LiveWorkerInfo& worker,
                                 size_t i) {
  const bool owner = worker.peer.empty();
  const auto* const held = i < worker.held.size() ? &worker.held[i] : nullptr;
  std::vector<std::string> cells = {
      wq::EscapeKey(worker.queue),
      worker.name.empty() ? "-" : wq::EscapeKey(worker.name),
      owner ? "-" : wq::EscapeKey(worker.peer),
      std::to_string(worker.held_count) + (owner ? "" : "/" + std::to_string(worker.capacity)),
      held == nullptr ? "-" : args.show.Ago(held->since_us),
      owner ? "-" : std::to_string(worker.done),
      owner ? "-" : std::to_string(worker.failed)};
  if (args.format == Format::kWide) {
    cells.push_back(held == nullptr ? "-" : args.show.Key(held->key));
    cells.push_back(held == nullptr ? "-" : std::to_string(held->token));
    cells.push_back(held == nullptr ? "-" : std::to_string(held->attempt));
  }
  return cells;
}

bool Print(const WorkersArgs& args, const std::vector<wq::LiveWorkerInfo>& workers, Output* out) {
  const bool wide = args.format == Format::kWide;
  std::vector<std::string> header = {"QUEUE", "WORKER", "PEER", "HELD", wide ? "SINCE" : "OLDEST",
                                     "DONE",  "FAILED"};
  if (wide) header.insert(header.end(), {"KEY", "TOKEN", "ATTEMPT"});
  Listing listing(args.format, std::move(header), out);
  for (const wq::LiveWorkerInfo& worker : workers) {
    const size_t rows = wide ? std::max<size_t>(1, worker.held.size()) : 1;
    for (size_t i = 0; i < rows; ++i) {
      const bool open = listing.Row([&](std::string* json) { AppendWorkerJson(worker, json); },
                                    [&] { return CellsOf(args, worker, i); },
                                    [&] { return wq::EscapeKey(worker.name) + "\n"; });
      if (!open) return false;
    }
  }
  listing.End(true);
  return out->Flush();
}

int Watch(WorkersArgs args, const wq::LiveStore& live, const StopSignals& signals, Output* out) {
  const bool clears = isatty(STDOUT_FILENO) == 1 && IsTable(args.format);
  do {
    const StopGuard guard(signals, StopGuard::During::kShowing);
    std::vector<wq::LiveWorkerInfo> workers;
    if (wq::Status s = ReadWorkers(args, live, &workers); !s.ok()) return Fail(s);
    args.show.now_us = wq::Clock::System()->WallUs();
    if (clears) out->Write("\x1b[H\x1b[2J");
    if (!Print(args, workers, out)) break;
  } while (signals.WaitFor(kWatchInterval));
  return kExitOk;
}

int Run(WorkersArgs args) {
  std::optional<StopSignals> signals;
  if (args.watch) signals.emplace();  // Before the threads of the connection.
  std::unique_ptr<wq::LiveStore> live;
  if (wq::Status s = Connect(&args, &live); !s.ok()) return Fail(s);
  Output out;
  if (args.watch) return out.Finish(Watch(args, *live, *signals, &out));
  std::vector<wq::LiveWorkerInfo> workers;
  if (wq::Status s = ReadWorkers(args, *live, &workers); !s.ok()) return Fail(s);
  Print(args, workers, &out);
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseWorkers(const Input& input) {
  WorkersArgs args;
  VerbParser parser(input,
                    {"Shows which workers hold which keys, and since when.", "", kWorkersExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.Flag("--watch", "Show them again each second, until Ctrl-C", &args.watch);
  AddTimeOptions(&parser, &args.show);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl

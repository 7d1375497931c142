// wqctl replication init, seed and remove: the store of a replica.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/replication/log_verb.h"
#include "tools/wqctl/replication/ownership.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kInitExamples =
    R"(The store in DIR, which is made if there is none, becomes the first replica: its contents
are copied to the log as a checkpoint. Then others can follow it; see replication seed.
Running it again changes nothing.

Examples:
  wqctl replication init /var/lib/pods etcd://10.0.0.1:2379/wq/pods)";

constexpr const char* kSeedExamples =
    R"(Copies the checkpoint of the log to DIR, and the entries behind it. A replica that has
been seeded begins at once when it is opened; wqctl work and wqctl serve also do it
themselves.

Examples:
  wqctl replication seed /var/lib/pods etcd://10.0.0.1:2379/wq/pods --replica node-2)";

constexpr const char* kRemoveExamples =
    R"(The store in DIR keeps all that it has, and is an ordinary store from now on. Its log
and the other replicas stay as they are: see replication forget and replication destroy.

Examples:
  wqctl replication remove /var/lib/pods)";

struct InitReplicaArgs : LogVerbArgs {};
struct SeedArgs : LogVerbArgs {};
struct RemoveArgs : LogVerbArgs {};

// AlreadyExists: the log is that of another store than the one in `dir`.
wq::Status CheckMayInit(const std::string& dir, wq::ReplicatedLog* log) {
  wq::LogState state;
  if (wq::Status s = log->State(&state); !s.ok() || state.store_uuid.empty()) return s;
  std::unique_ptr<wq::StoreView> view;
  wq::Status s = wq::StoreView::Open(dir, &view);
  const bool missing = s.code() == wq::StatusCode::kNotFound;
  if (!s.ok() && !missing) return s;
  if (!missing && view->info().uuid == state.store_uuid) return {};
  return wq::Status::AlreadyExists(
      log->Name() + " is the log of store " + state.store_uuid + " already" +
      (missing ? "; replication seed makes a replica of it"
               : ", and " + Shown(dir) + " is store " + view->info().uuid));
}

wq::Status OpenReplica(const LogVerbArgs& args, bool candidate,
                       std::optional<wq::Replication> replication,
                       std::unique_ptr<wq::Store>* store) {
  wq::StoreOptions options;
  options.create_if_missing = true;
  options.replication = std::move(replication);
  options.replication->candidate = candidate;
  return wq::Store::Open(options, args.dir, store);
}

// TimedOut, with what the replica waits for.
wq::Status NotInTime(const std::string& what, const wq::ReplicaState& replica) {
  std::string why = what + " in time";
  if (!replica.log.ok()) {
    why += ": " + Shown(replica.log.message());
  } else if (!replica.owner && !replica.owner_name.empty()) {
    why += ": replica " + Shown(replica.owner_name) + " owns the store";
  }
  return wq::Status::TimedOut(std::move(why));
}

int Run(const InitReplicaArgs& args) {
  std::optional<wq::Replication> replication;
  if (wq::Status s = ReplicationOf(args.log, &replication); !s.ok()) return Fail(s);
  const std::shared_ptr<wq::ReplicatedLog> log = replication->log;
  if (wq::Status s = CheckMayInit(args.dir, log.get()); !s.ok()) return Fail(s);
  std::unique_ptr<wq::Store> store;
  if (wq::Status s = OpenReplica(args, true, replication, &store); !s.ok()) return Fail(s);
  // An ownership begins when the log has a checkpoint.
  wq::Status s = store->WaitForLeadership(args.timeout);
  if (s.code() == wq::StatusCode::kTimedOut) {
    s = NotInTime("this replica did not own the store", store->Replica());
  }
  const std::string uuid = store->uuid();
  wq::Status closed = ResignAndClose(store.get());
  if (!s.ok()) return Fail(s);
  if (!closed.ok()) return Fail(closed);
  return PrintLine("replicated store " + Shown(args.dir) + ", uuid " + uuid + ", by " +
                   log->Name());
}

int Run(const SeedArgs& args) {
  std::optional<wq::Replication> replication;
  if (wq::Status s = ReplicationOf(args.log, &replication); !s.ok()) return Fail(s);
  const std::shared_ptr<wq::ReplicatedLog> log = replication->log;
  wq::LogState state;
  if (wq::Status s = log->State(&state); !s.ok()) return Fail(s);
  if (state.store_uuid.empty()) {
    return Fail(
        wq::Status::NotFound(log->Name() + " has no store yet: run wqctl replication init first"));
  }
  std::unique_ptr<wq::Store> store;
  if (wq::Status s = OpenReplica(args, false, replication, &store); !s.ok()) return Fail(s);
  wq::Status s = PollUntil(args.timeout, [&](bool* ready) {
    const wq::ReplicaState replica = store->Replica();
    *ready = replica.applied_at_us != 0 && replica.applied >= state.last;
    return wq::Status::Ok();
  });
  if (s.code() == wq::StatusCode::kTimedOut) {
    s = NotInTime("this replica did not catch up with the log", store->Replica());
  }
  const uint64_t applied = store->Replica().applied;
  wq::Status closed = store->Close();
  if (!s.ok()) return Fail(s);
  if (!closed.ok()) return Fail(closed);
  return PrintLine("seeded replica " + Shown(args.dir) + ", uuid " + state.store_uuid +
                   ", up to entry " + std::to_string(applied));
}

int Run(const RemoveArgs& args) {
  if (wq::Status s = wq::DetachReplica(args.dir); !s.ok()) return Fail(s);
  return PrintLine("detached store " + Shown(args.dir) + ": it is not replicated any more");
}

// DIR [URL].
template <typename Args>
Command ParseDirAndUrl(const Input& input, const char* description, const char* examples,
                       const char* wait) {
  Args args;
  VerbParser parser(input, {description, " DIR [URL]", examples}, nullptr);
  AddLogOptions(&parser, &args.log, true);
  AddTimeout(&parser, wait, &args);
  const Words words = parser.Parse();
  TakeUrl(words, 1, 1, "which store? Give its directory", &args);
  args.dir = words.front();
  return args;
}

}  // namespace

Command ParseReplicationInit(const Input& input) {
  return ParseDirAndUrl<InitReplicaArgs>(input, "Makes a store the first replica of a log.",
                                         kInitExamples, "for the ownership and the checkpoint");
}

Command ParseReplicationSeed(const Input& input) {
  return ParseDirAndUrl<SeedArgs>(input, "Makes a replica from a log.", kSeedExamples,
                                  "until it has caught up");
}

Command ParseReplicationRemove(const Input& input) {
  RemoveArgs args;
  VerbParser parser(input, {"Makes a replica an ordinary store.", " DIR", kRemoveExamples},
                    nullptr);
  const Words words = parser.Parse();
  if (words.empty()) Usage("which store? Give its directory");
  if (words.size() > 1) Unexpected(words[1]);
  args.dir = words.front();
  return args;
}

}  // namespace wqctl

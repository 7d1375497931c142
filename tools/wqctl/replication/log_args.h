// LogArgs: which replicated log a verb uses, and as which replica; options of several verbs.
//
//   AddLogOptions(&parser, &args.log);            // --replicate, --replica, --lease, --etcd-…
//   …
//   wq::Status s = ReplicationOf(args.log, &options.replication);
//
// A log is named by a URL: etcd://HOST:PORT[,HOST:PORT…]/PREFIX. Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tools/wqctl/cli/cli.h"
#include "wq/etcd_log.h"
#include "wq/options.h"
#include "wq/replicated_log.h"
#include "wq/status.h"

namespace wqctl {

struct LogArgs {
  std::string url;                // Empty: the store is not replicated.
  std::string replica;            // Empty: the host's name.
  std::optional<uint32_t> lease;  // Seconds.
  std::string etcd_ca;
  std::string etcd_cert;
  std::string etcd_key;
  std::string etcd_user;
  std::string etcd_password_file;

  bool operator==(const LogArgs&) const = default;
};

// The options about the log. `with_replica`: also --replica and --lease.
void AddLogOptions(VerbParser* parser, LogArgs* args, bool with_replica);

// InvalidArgument: the URL, the name of the replica, or options that do not go together.
wq::Status CheckLogArgs(const LogArgs& args);

// Opens the log of args.url. NotSupported: this wqctl was built without etcd.
wq::Status OpenLog(const LogArgs& args, std::shared_ptr<wq::ReplicatedLog>* log);

// For StoreOptions::replication; nullopt without a URL. Errors: as CheckLogArgs and OpenLog.
wq::Status ReplicationOf(const LogArgs& args, std::optional<wq::Replication>* replication);

// What wqctl serve and wqctl work open a store with, apart from their options: with a history.
wq::StoreOptions ToolStoreOptions();
// --history-bytes and --history-age.
void AddHistoryOptions(VerbParser* parser, wq::StoreOptions* options);

// --durability, whose default is replicated with --replicate, and otherwise process.
void AddDurability(VerbParser* parser, std::optional<wq::Durability>* durability);
wq::Durability DurabilityOf(const std::optional<wq::Durability>& durability, bool replicated);

}  // namespace wqctl

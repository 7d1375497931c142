// wqctl serve: a daemon that owns a store and serves it to other processes.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/mutex.h"
#include "server/net/systemd_notify.h"
#include "tools/wqctl/cli/open_queue.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/replication/ownership.h"
#include "tools/wqctl/serve/serve_config.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "wq/internal/queue_calls.h"
#include "wq/keys.h"
#include "wq/prometheus.h"
#include "wq/queue.h"
#include "wq/server.h"
#include "wq/store.h"

namespace wqctl {
namespace {

constexpr const char* kServeExamples =
    R"(Owns the store until SIGTERM or SIGINT, and serves it on DIR/control.sock to wqctl,
to workers and to clients in any language; with --address over TCP as well. All queues
are opened at the start, so that delayed keys become due.
With --http HOST:PORT it shows a live page of the store at that address, in a browser:
everybody on this machine may use it, or with --token-file whoever has the token.
FILE of --config has lines "name = value" with the names of these options, and sections
"[queue NAME]" with order, lanes, starvation-bound, shards, max-requeues, base-delay,
max-delay, durability, merge-delays and those of flow control (docs/flow-control.md);
"[queue *]" is for all other queues.
SIGHUP reads FILE and the token files again. A queue that is open takes its limits from
FILE and keeps its other options, and an address, a certificate's name or a socket is
changed by a restart only.
SIGTERM and SIGINT: no key is assigned any more, and workers have --grace to answer
those that they hold; a second signal ends at once. The rest stays in the store.
As a service of systemd it reports READY=1.

With --replicate the store is one of several replicas, on machines of their own: run
serve on each of them. It serves while it owns the store; meanwhile the others follow it,
and refuse connections. SIGTERM and SIGINT hand the store over to one of them.

Examples:
  wqctl --store /var/lib/wq/main serve --create
  wqctl --store /var/lib/wq/main serve --replicate etcd://10.0.0.1:2379/wq/main
  wqctl serve --address 0.0.0.0:7711 --token-file /etc/wq/token \
    --tls-cert cert.pem --tls-key key.pem
  systemctl enable --now wqctl@main)";

struct ServeArgs {
  std::string store_dir;
  std::string config_file;  // Empty: none.
  ServeConfig options;      // Of the command line.
};

void WarnIfFailed(const wq::Status& s) {
  if (!s.ok()) LogWarning(wq::EscapeKey(s.message(), 4096));
}

// The options of the command line, and of the file those that the command line does not set.
wq::Status ReadConfig(const ServeArgs& args, ServeConfig* config) {
  ServeConfig read = args.options;
  std::string file = args.config_file;
  const bool may_be_missing = file.starts_with('-');
  if (may_be_missing) file.erase(0, 1);
  if (!file.empty() && !(may_be_missing && access(file.c_str(), F_OK) != 0)) {
    if (wq::Status s = ReadServeConfig(file, &read); !s.ok()) return s;
  }
  if (read.http_any_address.value_or(false) && read.http.empty()) {
    return wq::Status::InvalidArgument("http-any-address goes with http");
  }
  if (wq::Status s = CheckLogArgs(read.log); !s.ok()) return s;
  *config = std::move(read);
  return {};
}

class Daemon {
 public:
  explicit Daemon(const ServeArgs& args) : args_(args) {}

  wq::Status Open(const StopSignals& signals);
  // Serves until a signal ends it.
  wq::Status Run(const StopSignals& signals);

 private:
  enum class End : uint8_t { kSignal, kLost };  // Lost: the ownership.

  std::string Summary() const;
  wq::Status AwaitOwnership(const StopSignals& signals);
  wq::Status OpenService();
  bool ServesPage() const WQ_REQUIRES(mu_);
  End AwaitEnd(const StopSignals& signals);
  wq::Status Stop(const StopSignals& signals);
  wq::Status OpenStore();
  wq::Status OpenQueues();
  wq::Status OpenQueue(std::string_view name, bool create, wq::Queue** queue);
  wq::Status OpenServer();
  void Reload();
  wq::Status ReloadQueue(const std::string& name, ServeConfig* read) WQ_REQUIRES(mu_);

  const ServeArgs& args_;
  const std::shared_ptr<wq::PrometheusProvider> metrics_ = wq::MakePrometheusProvider();
  mutable wq::Mutex mu_;
  ServeConfig config_ WQ_GUARDED_BY(mu_);
  bool replicated_ = false;
  const wq::FileDescriptor lost_{
      eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // Readable: an ownership has ended.
  OwnershipEnd ownership_end_;
  std::unique_ptr<wq::Store> store_;
  std::unique_ptr<wq::Server>
      server_;  // Ends before the store. Null: this process does not own it.
};

wq::Status Daemon::Open(const StopSignals& signals) {
  const StopGuard guard(signals, StopGuard::During::kOpening);
  {
    const wq::MutexLock lock(mu_);
    if (wq::Status s = ReadConfig(args_, &config_); !s.ok()) return s;
  }
  if (wq::Status s = OpenStore(); !s.ok()) return s;
  return replicated_ ? wq::Status::Ok() : OpenService();
}

wq::Status Daemon::OpenService() {
  if (wq::Status s = OpenQueues(); !s.ok()) return s;
  return OpenServer();
}

wq::Status Daemon::OpenStore() {
  wq::StoreOptions options;
  {
    const wq::MutexLock lock(mu_);
    options.create_if_missing = config_.create.value_or(false);
    SetHistory(config_.history, &options);
    if (wq::Status s = ReplicationOf(config_.log, &options.replication); !s.ok()) return s;
  }
  replicated_ = options.replication.has_value();
  if (replicated_) {
    options.create_if_missing = true;
    ownership_end_.Watch(&*options.replication);
    ownership_end_.Set([this] { eventfd_write(lost_.get(), 1); });
  }
  options.metrics = metrics_;
  options.on_health = [](const wq::Status& health) {
    if (health.ok()) {
      LogInfo("the store is durable again");
    } else {
      LogError(wq::EscapeKey(health.message(), 4096));
    }
    WarnIfFailed(wq::Notify(health.ok() ? "STATUS=" : "STATUS=the store is not durable"));
  };
  return wq::Store::Open(options, args_.store_dir, &store_);
}

// Those of the store, and those that have a section.
wq::Status Daemon::OpenQueues() {
  std::vector<std::string> names = store_->QueueNames();
  {
    const wq::MutexLock lock(mu_);
    for (const auto& [name, _] : config_.queues) {
      if (name != "*") names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    if (store_->FindQueue(name) != nullptr) continue;
    wq::QueueOptions options;
    {
      const wq::MutexLock lock(mu_);
      options = config_.Of(name).Options();
    }
    wq::Queue* queue = nullptr;
    const wq::Status s = store_->OpenQueue(name, options, &queue);
    if (!s.ok() && s.code() != wq::StatusCode::kAlreadyExists) {  // A client may have opened it.
      return {s.code(), "queue \"" + wq::EscapeKey(name, 100) + "\": " + s.message()};
    }
  }
  return {};
}

// For a client. Called by the threads of the server.
wq::Status Daemon::OpenQueue(std::string_view name, bool create, wq::Queue** queue) {
  wq::QueueOptions options;
  {
    const wq::MutexLock lock(mu_);
    options = config_.Of(name).Options();
    options.create_if_missing = create && config_.create_queues.value_or(true);
  }
  return store_->OpenQueue(name, options, queue);
}

// Other machines get the page only with a token, and the metrics in any case.
bool Daemon::ServesPage() const {
  if (!config_.page.value_or(true) || config_.http.empty()) return false;
  return !config_.http_any_address.value_or(false) || !config_.token_file.empty();
}

void SetServeLimits(const ServeConfig& config, wq::ServerOptions* options) {
  options->max_workers = config.max_workers.value_or(options->max_workers);
  options->max_connections = config.max_grpc_connections.value_or(options->max_connections);
  options->max_http_connections =
      config.max_http_connections.value_or(options->max_http_connections);
  options->max_newcomers = config.max_newcomers.value_or(options->max_newcomers);
  if (config.io_timeout) {
    options->io_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(*config.io_timeout);
  }
  if (config.newcomer_timeout) {
    options->newcomer_timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(*config.newcomer_timeout);
  }
}

wq::Status Daemon::OpenServer() {
  wq::ServerOptions options;
  {
    const wq::MutexLock lock(mu_);
    options = {.control_socket = true,
               .address = config_.address,
               .tls_certificate_file = config_.tls_cert,
               .tls_key_file = config_.tls_key,
               .tls_client_ca_file = config_.tls_client_ca,
               .tls_any_client = config_.tls_any_client.value_or(false),
               .token_file = config_.token_file,
               .viewer_token_file = config_.viewer_token_file,
               .read_only = config_.read_only.value_or(false),
               .warn = LogWarning,
               .http_address = config_.http,
               .http_any_address = config_.http_any_address.value_or(false),
               .page = ServesPage()};
    if (config_.log_changes.value_or(false)) options.log_change = LogInfo;
    SetServeLimits(config_, &options);
  }
  options.metrics = [metrics = metrics_] { return wq::PrometheusText(*metrics); };
  options.open_queue = [this](std::string_view name, bool create, wq::Queue** queue) {
    return OpenQueue(name, create, queue);
  };
  options.delete_any_queue = true;
  return wq::Server::Open(store_.get(), options, &server_);
}

// "serving /var/lib/wq/main: 3 queues, /var/lib/wq/main/control.sock, address port 7711, …".
std::string Daemon::Summary() const {
  const size_t queues = store_->QueueNames().size();
  std::string text = "serving " + wq::EscapeKey(args_.store_dir, 4096) + ": " +
                     std::to_string(queues) + (queues == 1 ? " queue, " : " queues, ") +
                     wq::EscapeKey(server_->socket_path(), 4096);
  const wq::MutexLock lock(mu_);
  if (server_->port() != 0) {
    text += ", address port " + std::to_string(server_->port());
    if (!config_.tls_cert.empty()) text += " with TLS";
    if (!config_.token_file.empty()) text += " with a token";
  }
  if (config_.read_only.value_or(false)) text += ", read-only";
  if (server_->http_port() != 0) {
    text += ", http port " + std::to_string(server_->http_port());
    if (ServesPage()) {
      text += " with the page";
    } else if (config_.page.value_or(true)) {
      text += " without the page, which needs a token there";
    }
  }
  return text;
}

wq::Status Daemon::Run(const StopSignals& signals) {
  End end = End::kLost;
  while (end == End::kLost) {
    if (replicated_) {
      eventfd_t ended = 0;
      eventfd_read(lost_.get(), &ended);
      wq::Status s = AwaitOwnership(signals);
      if (s.code() == wq::StatusCode::kShuttingDown) break;  // A signal.
      if (s.ok()) s = OpenService();
      if (s.code() == wq::StatusCode::kNotOwner) {
        server_.reset();
        continue;
      }
      if (!s.ok()) return s;
    }
    end = AwaitEnd(signals);
    if (end == End::kLost) server_.reset();
  }
  return Stop(signals);
}

wq::Status Daemon::AwaitOwnership(const StopSignals& signals) {
  WarnIfFailed(wq::Notify(std::string(wq::kNotifyReady) + "\nSTATUS=a replica, not the owner"));
  return wqctl::AwaitOwnership(store_.get(), [&] {
    const int signal = signals.Take();
    if (signal == SIGHUP) Reload();
    return signal != 0 && signal != SIGHUP;
  });
}

Daemon::End Daemon::AwaitEnd(const StopSignals& signals) {
  LogInfo(Summary());
  WarnIfFailed(wq::Notify(std::string(wq::kNotifyReady) + "\nSTATUS=" + Summary()));
  while (true) {
    std::array<pollfd, 2> ready = {pollfd{signals.fd(), POLLIN, 0}, pollfd{lost_.get(), POLLIN, 0}};
    poll(ready.data(), ready.size(), -1);
    const int signal = signals.Take();
    if (signal == SIGHUP) Reload();
    if (signal == 0 && ready[1].revents != 0) return End::kLost;
    if (signal == 0 || signal == SIGHUP) continue;
    LogInfo("SIG" + std::string(sigabbrev_np(signal)) + ": no key is assigned any more");
    WarnIfFailed(wq::Notify(std::string(wq::kNotifyStopping) + "\nSTATUS=waiting for workers"));
    return End::kSignal;
  }
}

wq::Status Daemon::Stop(const StopSignals& signals) {
  ownership_end_.Expect();
  if (server_ == nullptr) {
    const StopGuard guard(signals, StopGuard::During::kStopped);
    return store_->Close();
  }
  std::chrono::microseconds grace{0};
  {
    const wq::MutexLock lock(mu_);
    grace = config_.grace.value_or(std::chrono::seconds{30});
  }
  DrainServer(server_.get(), grace, signals);
  const StopGuard guard(signals, StopGuard::During::kStopped);
  server_->Close();
  return ResignAndClose(store_.get());
}

// The queue, if it is open, takes its limits from what was read. After an error it keeps its
// section.
wq::Status Daemon::ReloadQueue(const std::string& name, ServeConfig* read) {
  wq::Queue* const queue = store_->FindQueue(name);
  const QueueConfig now = read->Of(name);
  const QueueConfig before = config_.Of(name);
  if (queue == nullptr || now == before) return {};
  if (now.WithoutLimits() != before.WithoutLimits()) {
    LogWarning("the other options of queue \"" + wq::EscapeKey(name) +
               "\" than its limits change at a restart");
  }
  const wq::QueueOptions options = now.Options();
  wq::Status s = wq::SetLimits(queue, options.limits, options.group_limits);
  if (s.ok()) return s;
  read->queues.insert_or_assign(name, before);
  return {s.code(), "queue \"" + wq::EscapeKey(name, 100) + "\": " + s.message()};
}

void Daemon::Reload() {
  WarnIfFailed(wq::Notify(wq::NotifyReloading()));
  ServeConfig read;
  wq::Status s = ReadConfig(args_, &read);
  if (s.ok()) {
    {
      const wq::MutexLock lock(mu_);
      for (const auto& name : store_->QueueNames()) {
        wq::Status reloaded = ReloadQueue(name, &read);
        if (s.ok()) s = std::move(reloaded);  // The first error.
      }
      // What the server was opened with stays.
      config_.queues = std::move(read.queues);
      config_.grace = read.grace;
      config_.create_queues = read.create_queues;
    }
    if (s.ok() && server_ != nullptr) s = OpenQueues();
  }
  if (s.ok() && server_ != nullptr) s = server_->Reload();
  if (s.ok()) {
    LogInfo("SIGHUP: read the configuration again");
  } else {
    LogError("SIGHUP: " + wq::EscapeKey(s.message(), 4096));
  }
  const std::string status = server_ == nullptr ? "a replica, not the owner" : Summary();
  WarnIfFailed(wq::Notify(std::string(wq::kNotifyReady) + "\nSTATUS=" + status));
}

// A server limits its connections by the limit of descriptors, whose usual value of 1024 is for
// programs that call select().
void RaiseDescriptorLimit() {
  constexpr rlim_t kEnough = 65536;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough) return;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  setrlimit(RLIMIT_NOFILE, &limit);  // An error leaves the limit.
}

int Run(const ServeArgs& args) {
  const StopSignals signals;
  if (signals.fd() < 0) return Fail(wq::Status::IOError("signalfd failed: " + ErrnoText(errno)));
  RaiseDescriptorLimit();
  Daemon daemon(args);
  if (wq::Status s = daemon.Open(signals); !s.ok()) return Fail(s);
  wq::Status s = daemon.Run(signals);
  return s.ok() ? kExitOk : Fail(s);
}

void AddAddressOptions(VerbParser* parser, ServeConfig* options) {
  parser->NonEmpty(
      "--address", "HOST:PORT",
      "Serve over TCP too: on loopback, or with a token or client certificates; port 0: any",
      &options->address);
  parser->NonEmpty("--tls-cert", "FILE", "The certificate of the address, in PEM",
                   &options->tls_cert);
  parser->NonEmpty("--tls-key", "FILE", "The key of the certificate, in PEM", &options->tls_key);
  parser->NonEmpty("--tls-client-ca", "FILE", "Clients must show a certificate of this CA",
                   &options->tls_client_ca);
  parser->NonEmpty("--token-file", "FILE", "Calls over TCP must have the token in FILE",
                   &options->token_file);
  parser->NonEmpty("--viewer-token-file", "FILE",
                   "Calls over TCP with the token in FILE may read only",
                   &options->viewer_token_file);
  parser->NonEmpty("--http", "HOST:PORT",
                   "Serve the live page, /metrics, /healthz and /readyz on loopback; port 0: any",
                   &options->http);
}

void AddLimitOptions(VerbParser* parser, ServeConfig* options) {
  const auto number = [parser](const std::string& name, const std::string& description,
                               std::optional<uint32_t>* target) {
    AddParsed(parser, name, "N", description, "a number of at least 1", ParseNumber<uint32_t, 1>,
              target);
  };
  number("--max-workers", "Workers of all queues; default 4096", &options->max_workers);
  number("--max-grpc-connections", "Connections of gRPC; default 10000",
         &options->max_grpc_connections);
  number("--max-http-connections", "Connections of HTTP, of each address; default 10000",
         &options->max_http_connections);
  number("--max-newcomers", "HTTP connections of one peer that have made no call; default 4000",
         &options->max_newcomers);
  AddParsed(parser, "--io-timeout", "DURATION",
            "How long a client may take for a request, and again for its answer; default 10s",
            "a duration from 100ms to 1h", ParseIoTimeout, &options->io_timeout);
  AddParsed(parser, "--newcomer-timeout", "DURATION",
            "When a gRPC connection without an accepted call ends; default 30s",
            "a duration from 100ms to 1h", ParseIoTimeout, &options->newcomer_timeout);
}

}  // namespace

Command ParseServe(const Input& input) {
  ServeArgs args;
  VerbParser parser(input, {"Serves a store to other processes.", "", kServeExamples},
                    &args.store_dir);
  AddAddressOptions(&parser, &args.options);
  bool tls_any_client = false;
  bool http_any_address = false;
  bool no_page = false;
  bool read_only = false;
  bool log_changes = false;
  bool create = false;
  bool no_create_queues = false;
  parser.Flag("--tls-any-client",
              "With TLS alone, let clients of other machines in without token or certificate",
              &tls_any_client);
  parser.Flag("--http-any-address",
              "Let --http be reachable from other machines; the page then needs --token-file",
              &http_any_address);
  parser.Flag("--no-page", "Serve no page at --http", &no_page);
  parser.Flag("--read-only", "Refuse every call that changes something", &read_only);
  parser.Flag("--log-changes", "Log a line for each call that changes something", &log_changes);
  parser.Text("--config", "FILE",
              "Read options, and those of queues, from FILE; -FILE: if it exists",
              &args.config_file);
  parser.Flag("--create", "Make the store if there is none", &create);
  parser.Flag("--no-create-queues", "Let clients create no queues", &no_create_queues);
  AddDuration(&parser, "--grace",
              "How long workers may hold their keys after SIGTERM or SIGINT; default 30s",
              &args.options.grace);
  AddLimitOptions(&parser, &args.options);
  AddHistoryOptions(&parser, &args.options.history);
  AddDurability(&parser, &args.options.durability);
  AddLogOptions(&parser, &args.options.log, true);
  parser.ParseWithoutArguments();
  if (tls_any_client) args.options.tls_any_client = true;
  if (http_any_address) args.options.http_any_address = true;
  if (no_page) args.options.page = false;
  if (read_only) args.options.read_only = true;
  if (log_changes) args.options.log_changes = true;
  if (create) args.options.create = true;
  if (no_create_queues) args.options.create_queues = false;
  return args;
}

}  // namespace wqctl

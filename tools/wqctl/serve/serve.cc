// wqctl serve: a daemon that owns a store and serves it to other processes.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

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
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/replication/log_args.h"
#include "tools/wqctl/replication/ownership.h"
#include "tools/wqctl/serve/serve_config.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "wq/internal/queue_calls.h"
#include "wq/keys.h"
#include "wq/prometheus.h"
#include "wq/queue.h"
#include "wq/server.h"
#include "wq/store.h"

namespace wqctl {
namespace {

struct ServeArgs {
  std::string store_dir;
  Input input;  // The command line, which is read again with the file of --config.
};

void WarnIfFailed(const wq::Status& s) {
  if (!s.ok()) LogWarning(wq::EscapeKey(s.message(), 4096));
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
    if (wq::Status s = ReadServeConfig(args_.input, &config_); !s.ok()) return s;
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
    options = config_.store;
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
    options.create_if_missing = create && !config_.no_create_queues;
  }
  return store_->OpenQueue(name, options, queue);
}

// Other machines get the page only with a token, and the metrics in any case.
bool Daemon::ServesPage() const {
  const wq::ServerOptions& server = config_.server;
  if (config_.no_page || server.http_address.empty()) return false;
  return !server.http_any_address || !server.token_file.empty();
}

wq::Status Daemon::OpenServer() {
  wq::ServerOptions options;
  {
    const wq::MutexLock lock(mu_);
    options = config_.server;
    options.page = ServesPage();
    if (config_.log_changes) options.log_change = LogInfo;
  }
  options.control_socket = true;
  options.warn = LogWarning;
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
    if (!config_.server.tls_certificate_file.empty()) text += " with TLS";
    if (!config_.server.token_file.empty()) text += " with a token";
  }
  if (config_.server.read_only) text += ", read-only";
  if (server_->http_port() != 0) {
    text += ", http port " + std::to_string(server_->http_port());
    if (ServesPage()) {
      text += " with the page";
    } else if (!config_.no_page) {
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
    grace = config_.grace;
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
  wq::Status s = ReadServeConfig(args_.input, &read);
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
      config_.no_create_queues = read.no_create_queues;
    }
    if (server_ != nullptr) {
      wq::Status tokens = server_->Reload();
      if (s.ok()) s = OpenQueues();
      if (s.ok()) s = std::move(tokens);
    }
  }
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

}  // namespace

Command ParseServe(const Input& input) {
  ServeArgs args;
  args.input = input;
  ServeConfig config;  // Read again when the store is opened.
  ParseServeOptions(input, &args.store_dir, &config);
  return args;
}

}  // namespace wqctl

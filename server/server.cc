#include "wq/server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/names.h"
#include "server/api/change_log.h"
#include "server/api/method.h"
#include "server/api/store_access.h"
#include "server/browse/key_source.h"
#include "server/browse/search_turns.h"
#include "server/http/http.h"
#include "server/http/http_api.h"
#include "server/http/http_loop.h"
#include "server/net/acceptor.h"
#include "server/net/call_guard.h"
#include "server/net/socket.h"
#include "server/page/page.h"
#include "server/rpc/health.h"
#include "server/rpc/reflection.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/tls.h"
#include "server/service/overview.h"
#include "server/service/services.h"
#include "server/work/work_hub.h"
#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

// How long a client may leave an HTTP connection idle between two requests.
constexpr auto kIdleTimeout = std::chrono::minutes(5);
// The same at http_address with the page: a browser keeps several connections for each page.
constexpr auto kPageIdleTimeout = std::chrono::seconds(20);
constexpr const char* kUnprotected =
    "; for other machines require a token (--token-file) or certificates of clients "
    "(--tls-client-ca), or let every client in over TLS (--tls-any-client)";
// How long running calls may take when the server closes.
constexpr auto kCloseGrace = std::chrono::seconds(5);

// 200 if the store is durable and no queue is shutting down.
HttpReply Readiness(const Store& store) {
  if (Status s = store.Health(); !s.ok()) {
    return {.status = 503, .body = "not durable: " + s.message() + "\n"};
  }
  for (const std::string& name : store.QueueNames()) {
    const Queue* const queue = store.FindQueue(name);
    if (queue != nullptr && queue->IsShuttingDown()) {
      return {.status = 503, .body = "queue " + name + " is shutting down\n"};
    }
  }
  return {.body = "ok\n"};
}

std::string GuardMetrics(const CallGuard& guard) {
  return "# HELP wq_server_wrong_tokens_total Calls and log-ins with a wrong token\n"
         "# TYPE wq_server_wrong_tokens_total counter\n"
         "wq_server_wrong_tokens_total " +
         std::to_string(guard.wrong_tokens()) + "\n";
}

HttpReply NotServedHere(const std::string& request) {
  return {.status = 404, .body = "not served here: " + EscapeKey(request, 256) + "\n"};
}

}  // namespace

struct Server::Impl {
  Impl(Store* served_store, const ServerOptions& server_options)
      : store(served_store),
        options(server_options),
        access(store, options.open_queue, options.delete_any_queue),
        hub(&access,
            {.max_workers = options.max_workers, .silence_limit = options.worker_silence_limit}),
        keys(&access),
        guard({.token_file = options.token_file,
               .viewer_token_file = options.viewer_token_file,
               .read_only = options.read_only,
               .warn = options.warn}),
        control(HttpOptions(false, NoSuchMethod)),
        tcp(HttpOptions(!Protected(), NoSuchMethod)),
        web(WebOptions()),
        overview({.access = &access,
                  .hub = &hub,
                  .clock = Clock::System(),
                  .has_series = options.page}) {
    if (options.page) {
      page = std::make_unique<Page>(
          Page::Options{.clock = Clock::System(), .guard = &guard, .read_only = options.read_only});
    }
  }
  ~Impl() { Close(); }

  bool Tls() const { return !options.tls_certificate_file.empty(); }
  // Whether not everybody who reaches `address` gets in, or that is wanted.
  bool Protected() const {
    return !options.token_file.empty() ||
           (Tls() && (!options.tls_client_ca_file.empty() || options.tls_any_client));
  }
  Http::Options HttpOptions(bool check_host,
                            std::function<HttpReply(const std::string&)> not_found) const {
    return {.check_host = check_host,
            .not_found = std::move(not_found),
            .refused = nullptr,
            .max_request_bytes = options.max_request_bytes,
            .io_timeout = options.io_timeout,
            .idle_timeout = kIdleTimeout};
  }
  Http::Options WebOptions() const {
    Http::Options web_options = HttpOptions(!options.http_any_address, NotServedHere);
    if (options.page) {
      web_options.own_pages = true;
      web_options.refused = RefusedReply;
      web_options.not_found = NoSuchMethod;
      web_options.idle_timeout = kPageIdleTimeout;
      web_options.headers = PageHeaders();
    }
    return web_options;
  }
  CallGuard::Asked AskGuard() {
    return [this](const CallGuard::Request& request) { return guard.Ask(request); };
  }

  Status Open();
  Status Check() const;
  void AddMethods();
  void AddReadings(Http* http, const HttpGuard& judge);
  Status Listen(std::vector<Listener>* listeners);
  static Status ListenTcp(const std::string& address, bool any_address, ListenerKind kind,
                          int* bound, std::vector<Listener>* listeners);
  Status Start(std::vector<Listener> listeners);
  void Serve(FileDescriptor fd, ListenerKind kind);
  void Close();

  Store* const store;
  const ServerOptions options;
  StoreAccess access;
  WorkHub hub;
  const ServedKeys keys;
  SearchTurns searches;
  MethodTable methods;
  CallGuard guard;
  Http control;
  Http tcp;
  Http web;
  Overview overview;
  std::unique_ptr<Page> page;  // nullptr: it is not served.
  SocketFile file;
  ino_t inode = 0;  // Of the socket file that this server has created; 0: none.
  int port = 0;
  int http_port = 0;
  std::unique_ptr<RpcServer> rpc;
  std::unique_ptr<HttpLoop> loop;
  std::unique_ptr<Acceptor> acceptor;

  Mutex close_mu;
  bool closed WQ_GUARDED_BY(close_mu) = false;
};

Status Server::Impl::Check() const {
  if (!options.control_socket && options.address.empty() && options.http_address.empty()) {
    return Status::InvalidArgument("none of control_socket, address and http_address is set");
  }
  if (options.control_socket && store->dir().empty()) {
    return Status::InvalidArgument("a store in memory has no directory for a socket");
  }
  if (options.tls_certificate_file.empty() != options.tls_key_file.empty() ||
      (!Tls() && !options.tls_client_ca_file.empty())) {
    return Status::InvalidArgument("TLS needs a certificate file and a key file");
  }
  if (options.tls_any_client && !Tls()) {
    return Status::InvalidArgument("tls_any_client needs TLS");
  }
  if (options.page && options.http_address.empty()) {
    return Status::InvalidArgument("the page needs http_address");
  }
  if (options.page && options.http_any_address && options.token_file.empty()) {
    return Status::InvalidArgument("the page for other machines needs a token file");
  }
  if (options.worker_silence_limit < std::chrono::seconds(1)) {
    return Status::InvalidArgument("worker_silence_limit is less than a second");
  }
  if (options.max_request_bytes == 0 || options.max_request_bytes > size_t{1} << 30) {
    return Status::InvalidArgument("max_request_bytes is not from 1 to 1 GiB");
  }
  return {};
}

Status Server::Impl::Open() {
  if (Status s = Check(); !s.ok()) {
    return s;
  }
  if (Status s = guard.Load(); !s.ok()) {
    return s;
  }
  AddMethods();
  std::vector<Listener> listeners;
  if (Status s = Listen(&listeners); !s.ok()) {
    return s;
  }
  return Start(std::move(listeners));
}

void Server::Impl::AddMethods() {
  AddQueueService(&access, &methods);
  AddWorkService(&hub, &methods);
  AddAdminService(&access, &hub, &methods);
  AddOverviewService([this](const std::string& queue,
                            v1::GetOverviewResponse* response) { overview.Read(queue, response); },
                     [this](const v1::GetSeriesRequest& request, v1::GetSeriesResponse* response) {
                       return overview.ReadSeries(request, response);
                     },
                     &methods);
  const BrowseAccess browse{.keys = &keys, .turns = &searches, .access = &access, .hub = &hub};
  AddBrowseKeys(browse, &methods);
  AddChangeMatching(browse, &methods);
  AddHistoryService(
      [this](std::string_view queue, std::string_view key, size_t limit, KeyHistory* history) {
        return store->History(queue, key, limit, history);
      },
      &searches, &methods);
  AddHealth([this] { return Readiness(*store).status == 200; }, &methods);
  AddReflection(&methods);
  if (options.log_change != nullptr) {
    LogChanges(options.log_change, &methods);
  }
  for (const auto& [http, client] : {std::pair(&control, CallGuard::Client::kControlSocket),
                                     std::pair(&tcp, CallGuard::Client::kTcp)}) {
    AddApi(methods, GuardOf(client, AskGuard()), http);
    AddReadings(http, GuardOf(client, AskGuard()));
  }
  AddReadings(&web, nullptr);
  if (page != nullptr) {
    AddApi(methods, page->Guard(), &web);
    page->AddTo(&web);
  }
}

// /healthz says nothing about the store, so it needs no token.
void Server::Impl::AddReadings(Http* http, const HttpGuard& judge) {
  const auto guarded = [&judge](Http::Handler handler) {
    return Guarded(judge, /*changes=*/false, std::move(handler));
  };
  http->Get(
      "/healthz", [](const HttpRequest&) { return HttpReply{.body = "ok\n"}; }, HttpRun::kOnLoop);
  http->Get("/readyz", guarded([this](const HttpRequest&) { return Readiness(*store); }),
            HttpRun::kReserve);
  if (options.metrics != nullptr) {
    http->Get("/metrics", guarded([this](const HttpRequest&) {
                return HttpReply{.type = "text/plain; version=0.0.4; charset=utf-8",
                                 .body = options.metrics() + GuardMetrics(guard)};
              }));
  }
}

Status Server::Impl::ListenTcp(const std::string& address, bool any_address, ListenerKind kind,
                               int* bound, std::vector<Listener>* listeners) {
  if (address.empty()) {
    return {};
  }
  FileDescriptor fd(-1);
  if (Status s = ListenOnTcp(address, any_address, &fd, bound); !s.ok()) {
    return s;
  }
  listeners->push_back({std::move(fd), kind});
  return {};
}

Status Server::Impl::Listen(std::vector<Listener>* listeners) {
  if (Status s = ListenTcp(options.address, Protected(),
                           Tls() ? ListenerKind::kTls : ListenerKind::kTcp, &port, listeners);
      !s.ok()) {
    return Protected() || s.code() != StatusCode::kInvalidArgument
               ? s
               : Status::InvalidArgument(s.message() + kUnprotected);
  }
  if (Status s = ListenTcp(options.http_address, options.http_any_address, ListenerKind::kWeb,
                           &http_port, listeners);
      !s.ok()) {
    return s;
  }
  if (!options.control_socket) {
    return {};
  }
  if (Status s = OpenSocketFile(store->dir(), kControlSocketFile, &file); !s.ok()) {
    return s;
  }
  FileDescriptor fd(-1);
  if (Status s = ListenOnFile(file, &fd); !s.ok()) {
    return s;
  }
  inode = InodeOf(file);
  listeners->push_back({std::move(fd), ListenerKind::kControl});
  return {};
}

Status Server::Impl::Start(std::vector<Listener> listeners) {
  RpcServer::Options rpc_options{
      .methods = &methods,
      .max_message_bytes = options.max_request_bytes,
      .guard = AskGuard(),
      .accepted = [this](std::string_view peer) { acceptor->SetKnown(peer); },
      .tls = nullptr};
  if (Tls()) {
    if (Status s = MakeTlsCredentials({.certificate_file = options.tls_certificate_file,
                                       .key_file = options.tls_key_file,
                                       .client_ca_file = options.tls_client_ca_file},
                                      &rpc_options.tls);
        !s.ok()) {
      return s;
    }
  }
  if (Status s = RpcServer::Open(std::move(rpc_options), &rpc); !s.ok()) {
    return s;
  }
  if (Status s = hub.Start(); !s.ok()) {
    return s;
  }
  if (Status s = overview.Start(); !s.ok()) {
    return s;
  }
  if (Status s = HttpLoop::Open({.max_newcomers = options.max_newcomers}, &loop); !s.ok()) {
    return s;
  }
  Status s = Acceptor::Open(
      {.listeners = std::move(listeners),
       .grpc = [this](FileDescriptor fd,
                      ListenerKind kind) { rpc->Handle(fd.Release(), kind == ListenerKind::kTls); },
       .http = [this](FileDescriptor fd, ListenerKind kind) { Serve(std::move(fd), kind); },
       .max_grpc = options.max_connections,
       .max_http = options.max_http_connections,
       .io_timeout = options.io_timeout,
       .newcomer_timeout = options.newcomer_timeout},
      &acceptor);
  if (s.ok()) {
    loop->Limit(acceptor->max_http());
  }
  return s;
}

void Server::Impl::Serve(FileDescriptor fd, ListenerKind kind) {
  loop->Serve(std::move(fd), kind == ListenerKind::kControl ? &control
                             : kind == ListenerKind::kWeb   ? &web
                                                            : &tcp);
}

// No new connections, then no streams, then no calls.
void Server::Impl::Close() {
  const MutexLock lock(close_mu);
  if (std::exchange(closed, true)) {
    return;
  }
  if (acceptor != nullptr) {
    acceptor->Stop();
  }
  // While this process still owns the store: later the file belongs to the next owner.
  if (inode != 0 && InodeOf(file) == inode) {
    RemoveFile(file);
  }
  hub.Close();
  overview.Close();
  if (rpc != nullptr) {
    rpc->Close(kCloseGrace);
  }
  if (acceptor != nullptr) {
    acceptor->Close();
  }
  if (loop != nullptr) {
    loop->Close();
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Close(); }

Status Server::Open(Store* store, const ServerOptions& options, std::unique_ptr<Server>* server) {
  server->reset();
  auto impl = std::make_unique<Impl>(store, options);
  if (Status s = impl->Open(); !s.ok()) {
    return s;
  }
  server->reset(new Server(std::move(impl)));
  return {};
}

Status Server::Drain(std::chrono::milliseconds timeout) {
  return impl_->hub.Drain(std::chrono::steady_clock::now() + timeout)
             ? Status::Ok()
             : Status::TimedOut("workers still hold keys");
}

Status Server::TakeToken(uint64_t* token) { return impl_->hub.TakeToken(token); }

Status Server::Reload() {
  Status loaded = impl_->guard.Load();
  if (impl_->page != nullptr) {
    impl_->page->EndSessions();
  }
  return loaded;
}

void Server::Close() { impl_->Close(); }
int Server::port() const { return impl_->port; }
int Server::http_port() const { return impl_->http_port; }
const std::string& Server::socket_path() const { return impl_->file.path; }

}  // namespace wq

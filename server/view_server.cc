#include "wq/server.h"

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "server/api/method.h"
#include "server/browse/search_turns.h"
#include "server/http/http.h"
#include "server/http/http_api.h"
#include "server/http/http_loop.h"
#include "server/net/acceptor.h"
#include "server/net/call_guard.h"
#include "server/net/socket.h"
#include "server/page/page.h"
#include "server/service/services.h"
#include "server/view/stored_store.h"
#include "wq/clock.h"
#include "wq/history.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/browse.pb.h"

namespace wq {
namespace {

constexpr auto kViewIdleTimeout = std::chrono::seconds(20);
constexpr size_t kMaxRequestBytes = size_t{1} << 20;

}  // namespace

struct ViewServer::Impl {
  Impl(const std::string& store_dir, ViewServerOptions server_options)
      : dir(store_dir),
        options(std::move(server_options)),
        store(dir, Clock::System()),
        guard({.token_file = options.token_file, .viewer_token_file = {}, .read_only = true}),
        page({.clock = Clock::System(), .guard = &guard, .read_only = true}),
        http({.check_host = !options.http_any_address,
              .own_pages = true,
              .not_found = NoSuchMethod,
              .refused = RefusedReply,
              .max_request_bytes = kMaxRequestBytes,
              .io_timeout = options.io_timeout,
              .idle_timeout = kViewIdleTimeout,
              .headers = PageHeaders()}) {}
  ~Impl() { Close(); }

  Status Open();
  void AddMethods();
  void Close() const;

  const std::string dir;
  const ViewServerOptions options;
  StoredStore store;
  SearchTurns turns;
  CallGuard guard;
  MethodTable methods;
  Page page;
  Http http;
  int port = 0;
  std::unique_ptr<HttpLoop> loop;
  std::unique_ptr<Acceptor> acceptor;
};

void ViewServer::Impl::AddMethods() {
  AddBrowseKeys({.keys = &store, .turns = &turns}, &methods);
  AddOverviewService(
      [this](const std::string& queue, v1::GetOverviewResponse* response) {
        store.ReadOverview(queue, response);
      },
      [](const v1::GetSeriesRequest&, v1::GetSeriesResponse*) {
        return Status::NotSupported("only an owner that serves the page keeps series");
      },
      &methods);
  AddHistoryService(
      [this](std::string_view queue, std::string_view key, size_t limit, KeyHistory* history) {
        Status s = ReadHistory(dir, queue, key, limit, history);
        return s.code() == StatusCode::kNotFound ? Status::NotSupported(s.message()) : s;
      },
      &turns, &methods);
  methods.Add(Unary<v1::ListWorkersRequest, v1::ListWorkersResponse>(
      "wq.v1.Admin", "ListWorkers",
      [](const v1::ListWorkersRequest&, v1::ListWorkersResponse*) { return Status::Ok(); }));
  AddApi(methods, page.Guard(), &http);
  page.AddTo(&http);
}

Status ViewServer::Impl::Open() {
  if (options.http_any_address && options.token_file.empty()) {
    return Status::InvalidArgument("the page for other machines needs a token file");
  }
  if (Status s = guard.Load(); !s.ok()) {
    return s;
  }
  if (Status s = store.Open(); !s.ok()) {
    return s;
  }
  AddMethods();
  FileDescriptor fd(-1);
  if (Status s = ListenOnTcp(options.http_address, options.http_any_address, &fd, &port); !s.ok()) {
    return s;
  }
  std::vector<Listener> listeners;
  listeners.push_back({std::move(fd), ListenerKind::kWeb});
  if (Status s = HttpLoop::Open({}, &loop); !s.ok()) {
    return s;
  }
  Status s =
      Acceptor::Open({.listeners = std::move(listeners),
                      .grpc = nullptr,
                      .http = [this](FileDescriptor connection,
                                     ListenerKind) { loop->Serve(std::move(connection), &http); },
                      .max_grpc = 0,
                      .max_http = options.max_http_connections,
                      .io_timeout = options.io_timeout},
                     &acceptor);
  if (s.ok()) {
    loop->Limit(acceptor->max_http());
  }
  return s;
}

void ViewServer::Impl::Close() const {
  if (acceptor != nullptr) {
    acceptor->Close();
  }
  if (loop != nullptr) {
    loop->Close();
  }
}

ViewServer::ViewServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ViewServer::~ViewServer() = default;

Status ViewServer::Open(const std::string& dir, const ViewServerOptions& options,
                        std::unique_ptr<ViewServer>* server) {
  server->reset();
  auto impl = std::make_unique<Impl>(dir, options);
  if (Status s = impl->Open(); !s.ok()) {
    return s;
  }
  server->reset(new ViewServer(std::move(impl)));
  return {};
}

void ViewServer::Close() { impl_->Close(); }
int ViewServer::http_port() const { return impl_->port; }

}  // namespace wq

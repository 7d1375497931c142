// Page: the live page of a server, with its log-in.
//
//   Page page({.clock = Clock::System(), .guard = &guard, .overview = …});
//   Status s = page.Start();
//   page.AddTo(&http);                       // /ui/…
//   AddApi(methods, page.Guard(), &http);    // The calls that the page makes.
//
// Whoever may call without a token, may use the page without one: see CallGuard. Otherwise a
// request has a token in its header Authorization, or the cookie of a log-in with it.
// docs/server.md is the reference of what is served.
// Threading: thread-safe after AddTo. Lifetime: borrows the clock and the guard; outlives the
// connections of the Http.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "server/http/http.h"
#include "server/http/http_api.h"
#include "server/net/call_guard.h"
#include "server/page/events.h"
#include "server/page/page_sessions.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class Page {
 public:
  struct Options {
    Clock* clock = nullptr;
    CallGuard* guard = nullptr;
    bool read_only = false;
    std::function<void(const std::string& queue, v1::GetOverviewResponse* response)> overview;
  };
  explicit Page(const Options& options);

  Status Start();  // IOError: no thread can be started.
  void AddTo(Http* http);
  HttpGuard Guard();
  void EndSessions() { sessions_.EndAll(); }  // For tokens that may have changed.
  void Close() { events_.Close(); }           // Ends the streams.

 private:
  CallGuard::Role RoleOf(const HttpRequest& request) const;
  HttpReply SessionReply(CallGuard::Role role) const;
  HttpReply LogIn(const HttpRequest& request);
  HttpReply LogOut(const HttpRequest& request);
  HttpReply Listen(const HttpRequest& request);

  const Options options_;
  PageSessions sessions_;
  Events events_;
};

// For Http::Options of every Http that serves the page: the browser runs no script and no style
// but those of this server, shows the page in no frame, and keeps no answer.
HttpHeaders PageHeaders();

}  // namespace wq

// Page: the live page of a server, with its log-in.
//
//   Page page({.clock = Clock::System(), .guard = &guard});
//   page.AddTo(&http);                       // /ui/…
//   AddApi(methods, page.Guard(), &http);    // The calls that the page makes.
//
// Whoever may call without a token, may use the page without one: see CallGuard. Otherwise a
// request has a token in its header Authorization, or the cookie of a log-in with it.
// docs/server.md is the reference of what is served.
// Threading: thread-safe after AddTo. Lifetime: borrows the clock and the guard; outlives the
// connections of the Http.
#pragma once

#include "server/http/http.h"
#include "server/http/http_api.h"
#include "server/net/call_guard.h"
#include "server/page/page_sessions.h"
#include "wq/clock.h"

namespace wq {

class Page {
 public:
  struct Options {
    const Clock* clock = nullptr;
    CallGuard* guard = nullptr;
    bool read_only = false;
  };
  explicit Page(const Options& options);

  void AddTo(Http* http);
  HttpGuard Guard();
  void EndSessions() { sessions_.EndAll(); }  // For tokens that may have changed.

 private:
  CallGuard::Role RoleOf(const HttpRequest& request) const;
  HttpReply SessionReply(CallGuard::Role role) const;
  HttpReply LogIn(const HttpRequest& request);
  HttpReply LogOut(const HttpRequest& request);

  const Options options_;
  PageSessions sessions_;
};

// For Http::Options of every Http that serves the page: the browser runs no script and no style
// but those of this server, shows the page in no frame, and keeps no answer.
HttpHeaders PageHeaders();

}  // namespace wq

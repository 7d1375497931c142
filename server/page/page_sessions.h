// PageSessions: who has logged in to the live page.
//
//   PageSessions sessions({.clock = Clock::System()});
//   std::string cookie;
//   Status s = sessions.Begin(CallGuard::Role::kViewer, &cookie);  // For the header Set-Cookie.
//   CallGuard::Role role = sessions.RoleOf(request.cookie);
//
// A session is a random number in a cookie that no script can read and no other site's page can
// make the browser send. It ends by End, EndAll, its age, or when there are too many: then the
// oldest one ends. Sessions are in memory only: a restart ends them.
// Threading: thread-safe. Lifetime: borrows the clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "server/net/call_guard.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class PageSessions {
 public:
  struct Options {
    const Clock* clock = nullptr;
    size_t max_sessions = 1000;
    std::chrono::microseconds max_age = std::chrono::hours(12);
  };
  explicit PageSessions(const Options& options) : options_(options) {}

  // *set_cookie: the value of the header Set-Cookie. IOError: the system gives no random bytes.
  Status Begin(CallGuard::Role role, std::string* set_cookie) WQ_EXCLUDES(mu_);
  // `cookies`: the header Cookie, or "". kNone: it has no session that goes on. Takes as long for
  // every value of a length.
  CallGuard::Role RoleOf(std::string_view cookies) const WQ_EXCLUDES(mu_);
  void End(std::string_view cookies) WQ_EXCLUDES(mu_);
  void EndAll() WQ_EXCLUDES(mu_);
  // The header Set-Cookie with which a browser forgets its session.
  static std::string ForgetCookie();

 private:
  struct Session {
    std::string id;
    CallGuard::Role role;
    int64_t begun_us;  // By the steady clock.
  };

  const Options options_;
  mutable Mutex mu_;
  std::list<Session> sessions_ WQ_GUARDED_BY(mu_);  // The oldest first.
};

}  // namespace wq

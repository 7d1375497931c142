#include "server/page/page.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "server/page/page_files.h"

namespace wq {
namespace {

constexpr const char* kJsonType = "application/json";
constexpr size_t kMaxLogInBytes = 16384;  // A parsed body takes many times its size.

// False: the body is no {"token": "…"}.
bool ParseLogIn(const std::string& body, std::string* token) {
  if (body.size() > kMaxLogInBytes) {
    return false;
  }
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("token") || !json["token"].is_string()) {
    return false;
  }
  *token = json["token"].get<std::string>();
  return true;
}

}  // namespace

HttpHeaders PageHeaders() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

Page::Page(const Options& options) : options_(options), sessions_({.clock = options.clock}) {}

void Page::AddTo(Http* http) {
  AddPageFiles(http);
  http->Get("/ui/session", [this](const HttpRequest& request) {
    const CallGuard::Role role = RoleOf(request);
    if (role == CallGuard::Role::kNone && !request.authorization.empty()) {
      options_.guard->NoteWrongToken(request.peer);
    }
    return SessionReply(role);
  });
  http->Post("/ui/login", [this](const HttpRequest& request) { return LogIn(request); });
  http->Post("/ui/logout", [this](const HttpRequest& request) { return LogOut(request); });
}

HttpGuard Page::Guard() {
  return [this](const HttpRequest& request, bool changes) {
    if (!request.authorization.empty()) {
      return options_.guard->Ask(
          {CallGuard::Client::kTcp, request.authorization, changes, request.peer});
    }
    return options_.guard->Judge(CallGuard::Client::kTcp, RoleOf(request), changes);
  };
}

CallGuard::Role Page::RoleOf(const HttpRequest& request) const {
  if (!options_.guard->has_tokens() || !request.authorization.empty()) {
    return options_.guard->RoleOf(CallGuard::Client::kTcp, request.authorization);
  }
  return sessions_.RoleOf(request.cookie);
}

HttpReply Page::SessionReply(CallGuard::Role role) const {
  const nlohmann::ordered_json json = {{"role", RoleName(role)},
                                       {"read_only", options_.read_only},
                                       {"needs_token", options_.guard->has_tokens()},
                                       {"version", WQ_VERSION}};
  return {.type = kJsonType, .body = json.dump() + "\n"};
}

HttpReply Page::LogIn(const HttpRequest& request) {
  std::string token;
  if (!ParseLogIn(request.body, &token)) {
    return ErrorReply(Status::InvalidArgument("the body is not {\"token\": \"…\"}"));
  }
  const auto role_now = [this, &token] {
    return options_.guard->RoleOf(CallGuard::Client::kTcp, "Bearer " + token);
  };
  const CallGuard::Role role = role_now();
  if (role == CallGuard::Role::kNone) {
    options_.guard->NoteWrongToken(request.peer);
    return ErrorReply(Status::Unauthenticated("the token is wrong"));
  }
  HttpReply reply = SessionReply(role);
  if (options_.guard->has_tokens()) {
    sessions_.End(request.cookie);
    std::string cookie;
    if (Status s = sessions_.Begin(role, &cookie); !s.ok()) {
      return ErrorReply(s);
    }
    if (role_now() != role) {  // The tokens were loaded anew since.
      sessions_.End(cookie);
      return ErrorReply(Status::Unauthenticated("the token is wrong"));
    }
    reply.headers.emplace_back("Set-Cookie", std::move(cookie));
  }
  return reply;
}

HttpReply Page::LogOut(const HttpRequest& request) {
  sessions_.End(request.cookie);
  HttpReply reply = SessionReply(options_.guard->has_tokens() ? CallGuard::Role::kNone
                                                              : CallGuard::Role::kOperator);
  reply.headers.emplace_back("Set-Cookie", PageSessions::ForgetCookie());
  return reply;
}

}  // namespace wq

#include "server/net/call_guard.h"

namespace wq {

Status CallGuard::Load() {
  if (!has_tokens() && !options_.viewer_token_file.empty()) {
    return Status::InvalidArgument("the viewers' token file " + options_.viewer_token_file +
                                   " needs a token file for all others");
  }
  if (has_tokens()) {
    if (Status s = token_.Load(options_.token_file); !s.ok()) {
      return s;
    }
  }
  return options_.viewer_token_file.empty() ? Status::Ok()
                                            : viewer_token_.Load(options_.viewer_token_file);
}

CallGuard::Role CallGuard::RoleOf(Client client, std::string_view authorization,
                                  Status* why) const {
  if (client != Client::kTcp || !has_tokens()) {
    return Role::kOperator;
  }
  Status s = token_.Check(authorization);
  if (s.ok()) {
    return Role::kOperator;
  }
  if (viewer_token_.Check(authorization).ok()) {
    return Role::kViewer;
  }
  if (why != nullptr) {
    *why = std::move(s);
  }
  return Role::kNone;
}

CallGuard::Answer CallGuard::Judge(Client client, Role role, bool changes) const {
  Answer answer{.role = role};
  if (client == Client::kTcp && has_tokens()) {
    answer.token_file = role == Role::kOperator ? options_.token_file
                        : role == Role::kViewer ? options_.viewer_token_file
                                                : "";
  }
  if (role == Role::kNone) {
    answer.verdict = Verdict::kUnknown;
    answer.why = Status::Unauthenticated("log in first");
  } else if (changes && options_.read_only) {
    answer.verdict = Verdict::kForbidden;
    answer.why = Status::NotSupported("this server is read-only");
  } else if (changes && role == Role::kViewer) {
    answer.verdict = Verdict::kForbidden;
    answer.why = Status::NotSupported("the token is a viewer's, who may only read");
  }
  return answer;
}

CallGuard::Answer CallGuard::Ask(const Request& request) {
  Status why;
  const Role role = RoleOf(request.client, request.authorization, &why);
  Answer answer = Judge(request.client, role, request.changes);
  if (role == Role::kNone) {
    answer.why = std::move(why);
    if (!request.authorization.empty()) {
      NoteWrongToken(request.peer);
    }
  }
  return answer;
}

void CallGuard::NoteWrongToken(std::string_view peer) {
  constexpr int64_t kMinuteUs = 60'000'000;
  const uint64_t count = ++wrong_tokens_;
  const int64_t now_us = options_.clock->SteadyUs();
  int64_t next_us = next_warning_us_;
  if (options_.warn != nullptr && now_us >= next_us &&
      next_warning_us_.compare_exchange_strong(next_us, now_us + kMinuteUs)) {
    options_.warn("a wrong token of " + std::string(peer) + "; " + std::to_string(count) +
                  " so far");
  }
}

std::string_view RoleName(CallGuard::Role role) {
  switch (role) {
    case CallGuard::Role::kNone:
      return "none";
    case CallGuard::Role::kViewer:
      return "viewer";
    case CallGuard::Role::kOperator:
      return "operator";
  }
  return "none";
}

}  // namespace wq

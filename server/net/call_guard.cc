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

CallGuard::Answer CallGuard::Judge(Role role, bool changes) const {
  if (role == Role::kNone) {
    return {.verdict = Verdict::kUnknown, .why = Status::Unauthenticated("log in first")};
  }
  if (changes && options_.read_only) {
    return {.verdict = Verdict::kForbidden,
            .why = Status::NotSupported("this server is read-only")};
  }
  if (changes && role == Role::kViewer) {
    return {.verdict = Verdict::kForbidden,
            .why = Status::NotSupported("the token is a viewer's, who may only read")};
  }
  return {};
}

CallGuard::Answer CallGuard::Ask(Client client, std::string_view authorization,
                                 bool changes) const {
  Status why;
  const Role role = RoleOf(client, authorization, &why);
  if (role == Role::kNone) {
    return {.verdict = Verdict::kUnknown, .why = std::move(why)};
  }
  return Judge(role, changes);
}

}  // namespace wq

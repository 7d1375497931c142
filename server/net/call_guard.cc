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

CallGuard::Answer CallGuard::Ask(Client client, std::string_view authorization,
                                 bool changes) const {
  bool viewer = false;
  if (client == Client::kTcp && has_tokens()) {
    if (Status s = token_.Check(authorization); !s.ok()) {
      if (!viewer_token_.Check(authorization).ok()) {
        return {.verdict = Verdict::kUnknown, .why = std::move(s)};
      }
      viewer = true;
    }
  }
  if (changes && options_.read_only) {
    return {.verdict = Verdict::kForbidden,
            .why = Status::NotSupported("this server is read-only")};
  }
  if (changes && viewer) {
    return {.verdict = Verdict::kForbidden,
            .why = Status::NotSupported("the token is a viewer's, who may only read")};
  }
  return {};
}

}  // namespace wq

// CallGuard: which calls a client may make.
//
//   CallGuard guard({.token_file = "/etc/wq/token", .viewer_token_file = "/etc/wq/viewer-token"});
//   Status s = guard.Load();
//   const CallGuard::Answer answer = guard.Ask(
//       {CallGuard::Client::kTcp, authorization, method.changes, peer});
//   if (answer.verdict != CallGuard::Verdict::kPass) …   // answer.why says it to the client
//
//   client                                   may
//   on the control socket                    all
//   by TCP, if there are no tokens           all
//   by TCP, with the token                   all
//   by TCP, with the viewers' token          make the calls that change nothing
//   by TCP, with another token or none       make no call
//
// With read_only nobody may make a call that changes something. Threading: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/token_file.h"
#include "wq/clock.h"
#include "wq/status.h"

namespace wq {

class CallGuard {
 public:
  struct Options {
    std::string token_file = {};         // Empty: clients by TCP need no token.
    std::string viewer_token_file = {};  // Empty: there are no viewers.
    bool read_only = false;
    const Clock* clock = Clock::System();
    // Called with a line for people at a wrong token, at most once a minute. Must not block.
    std::function<void(const std::string& line)> warn = nullptr;
  };
  explicit CallGuard(Options options) : options_(std::move(options)) {}

  // Reads the files, and again if called again. InvalidArgument: viewer_token_file without
  // token_file, or as TokenFile::Load. After an error the token of that file is as before.
  Status Load();

  bool has_tokens() const { return !options_.token_file.empty(); }

  enum class Client : uint8_t { kControlSocket, kTcp };
  // What a client may do. Each may do what those before it may.
  enum class Role : uint8_t { kNone, kViewer, kOperator };
  enum class Verdict : uint8_t {
    kPass,
    kUnknown,    // There is no token, or a wrong one. HTTP: 401, gRPC: UNAUTHENTICATED.
    kForbidden,  // The client may not make this call. HTTP: 403, gRPC: PERMISSION_DENIED.
  };
  struct Answer {
    Verdict verdict = Verdict::kPass;
    Status why = {};  // Unauthenticated: unknown; NotSupported: forbidden.
    Role role = Role::kOperator;
    std::string token_file = {};  // Of the token that the client has shown; empty: it needs none.
  };
  struct Request {
    Client client;
    std::string_view authorization;  // The header, or "".
    bool changes;                    // Of the Method.
    std::string_view peer;           // See PeerName.
  };
  // A wrong token is noted.
  Answer Ask(const Request& request);
  // The same in two steps, for clients that show who they are once, and make calls later. `why`,
  // unless null: of kNone.
  Role RoleOf(Client client, std::string_view authorization, Status* why = nullptr) const;
  Answer Judge(Client client, Role role, bool changes) const;
  // Counts a wrong token, and warns; also for one that a client shows in another way.
  void NoteWrongToken(std::string_view peer);
  uint64_t wrong_tokens() const { return wrong_tokens_; }
  // For what carries calls; nullptr: every client may make every call.
  using Asked = std::function<Answer(const Request& request)>;

 private:
  const Options options_;
  TokenFile token_;
  TokenFile viewer_token_;
  std::atomic<uint64_t> wrong_tokens_ = 0;
  std::atomic<int64_t> next_warning_us_ = INT64_MIN;
};

// "operator", "viewer" or "none".
std::string_view RoleName(CallGuard::Role role);

}  // namespace wq

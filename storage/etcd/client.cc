#include "storage/etcd/client.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace wq::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool Has(const grpc::Status& failure, std::string_view text) {
  return failure.error_message().find(text) != std::string::npos;
}

struct Meaning {
  std::string_view text;  // Part of the message of gRPC or etcd.
  std::string_view meaning;
  std::string_view other_text = {};  // Another part, which must be there, too.
};

// The first that matches is taken.
constexpr std::array kMeanings = {
    Meaning{"database space exceeded",
            "its quota is used up (alarm NOSPACE), so it refuses every write until its database is "
            "defragmented and the alarm is disarmed"},
    Meaning{"no leader", "it has no leader: the majority of etcd's members cannot be reached"},
    Meaning{"request timed out", "it has no majority of members, or is overloaded"},
    Meaning{"too many requests", "it is overloaded"},
    Meaning{"invalid user ID or password", "authentication failed: wrong user or password"},
    Meaning{"user name is empty", "authentication failed: it wants a user and a password"},
    Meaning{"permission denied", "the user may not use the keys below this prefix"},
    Meaning{"invalid auth token", "authentication failed: it does not know the token it gave"},
    Meaning{"request is too large", "it refuses requests of this size (--max-request-bytes)"},
    Meaning{"CERTIFICATE_VERIFY_FAILED", "TLS failed: its certificate is not trusted"},
    Meaning{"Peer name", "TLS failed: its certificate is not for this host name"},
    Meaning{"andshake", "TLS failed: one side does not accept the other's certificate"},
    Meaning{"WRONG_VERSION_NUMBER", "TLS failed: it does not speak TLS"},
    Meaning{"onnection refused", "nothing listens there"},
    // gRPC does not say what the other side has said in its last message.
    Meaning{"failed to connect",
            "it closes the connection at once: TLS failed, because it does not accept the client's "
            "certificate, or because one side uses TLS and the other does not",
            "Endpoint read failed"},
    Meaning{"failed to connect",
            "it closes the connection at once: TLS failed, or one side uses TLS and the other does "
            "not",
            "Socket closed"},
    Meaning{"failed to connect",
            "it resets the connection at once: it ends just now, or TLS failed", "onnection reset"},
    Meaning{"DNS resolution failed", "its name cannot be resolved"},
};

// Whether another endpoint, or the same one a little later, may answer.
bool MayPass(const grpc::Status& failure) {
  return failure.error_code() == grpc::StatusCode::UNAVAILABLE ||
         failure.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
         Has(failure, "too many requests");
}

// Whether etcd does not know the token of the request: the user has to authenticate again.
bool IsTokenUnknown(const grpc::Status& failure) {
  return Has(failure, "invalid auth token") || Has(failure, "revision of auth store is old");
}

bool IsCompacted(const grpc::Status& failure) { return Has(failure, "has been compacted"); }

bool IsLeaseNotFound(const grpc::Status& failure) {
  return Has(failure, "requested lease not found");
}

bool IsWithoutAuth(const grpc::Status& failure) {
  return Has(failure, "authentication is not enabled");
}

// "etcd <endpoint>: <what it means> (<the text of gRPC or etcd>)". `user`: of the options.
std::string FailureText(std::string_view endpoint, std::string_view user,
                        const grpc::Status& failure) {
  std::string text = "etcd " + std::string(endpoint) + ": ";
  std::string_view meaning;
  if (failure.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    meaning = "it did not answer in time";
  }
  for (const Meaning& known : kMeanings) {
    if (Has(failure, known.text) && Has(failure, known.other_text)) {
      meaning = known.meaning;
      break;
    }
  }
  const bool of_user = meaning.find("user") != std::string_view::npos && !user.empty();
  const std::string detail =
      failure.error_message() + (of_user ? ", user " + std::string(user) : std::string());
  return meaning.empty() ? text + detail : text + std::string(meaning) + " (" + detail + ")";
}

// Between two rounds over all endpoints; also how long an endpoint that cannot be reached is waited
// for.
constexpr milliseconds kPause{50};
// The same if all are asked: longer than the pause between two connections.
constexpr milliseconds kMembersPause{1500};
// With less time left, a request is not sent again.
constexpr milliseconds kLeastTime{20};

milliseconds Left(Deadline deadline) {
  return std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
}

// Waits until the endpoint is connected, or has been unreachable for a while. gRPC gets on with a
// connection only while a thread waits for something: so sleeping would not help.
void WaitUntilConnected(const Endpoint& endpoint, Deadline deadline) {
  const Deadline patience = std::min(deadline, steady_clock::now() + kPause);
  for (;;) {
    const grpc_connectivity_state state = endpoint.channel->GetState(true);
    const bool failed = state == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (state == GRPC_CHANNEL_READY ||
        !endpoint.channel->WaitForStateChange(state, ForGrpc(failed ? patience : deadline))) {
      return;
    }
  }
}

// The text of what failed at each endpoint.
std::string Joined(const std::vector<std::string>& failures) {
  std::string text;
  for (const std::string& failure : failures) {
    text += (text.empty() || failure.empty() ? "" : "; ") + failure;
  }
  return text;
}

}  // namespace

gpr_timespec ForGrpc(Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(left.count(), GPR_TIMESPAN));
}

Status Client::Call(Deadline deadline, const Attempt& attempt) {
  std::vector<std::string> failures(endpoints_.size());
  for (size_t tries = 1;; ++tries) {
    const size_t at = current_;
    const Endpoint& endpoint = endpoints_[at];
    const auto share = endpoints_.size() == 1 ? Left(deadline) : Left(deadline) / 2;
    const grpc::Status s =
        Try(endpoint, steady_clock::now() + std::max(share, kLeastTime), attempt);
    if (s.ok()) {
      return {};
    }
    // Late attempts have little time: what failed before says more than that it was too short.
    if (failures[at].empty() || s.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) {
      failures[at] = FailureText(endpoint.address, options_.user, s);
    }
    if (IsCompacted(s)) {
      return Status::NotFound(failures[at]);
    }
    if (!MayPass(s)) {
      return Status::IOError(failures[at]);
    }
    Leave(endpoint);
    if (tries % endpoints_.size() == 0) {
      const Deadline pause = std::min(deadline, steady_clock::now() + kPause);
      endpoint.channel->WaitForStateChange(endpoint.channel->GetState(false), ForGrpc(pause));
    }
    if (Left(deadline) < kLeastTime) {
      return Status::IOError(Joined(failures));
    }
  }
}

grpc::Status Client::Try(const Endpoint& endpoint, Deadline deadline, const Attempt& attempt) {
  WaitUntilConnected(endpoint, deadline);
  for (bool again = false;; again = true) {
    std::string token;
    if (grpc::Status s = Token(endpoint, deadline, &token); !s.ok()) {
      return s;
    }
    grpc::ClientContext context;
    context.set_deadline(ForGrpc(deadline));
    // A member without a leader says so at once, and another may have one.
    context.AddMetadata("hasleader", "true");
    if (!token.empty()) {
      context.AddMetadata("token", token);
    }
    grpc::Status s = attempt(endpoint, &context);
    if (s.ok() || again || !IsTokenUnknown(s)) {
      return s;
    }
    ForgetToken(token);
  }
}

grpc::Status Client::Token(const Endpoint& endpoint, Deadline deadline, std::string* token) {
  if (options_.user.empty()) {
    return {};
  }
  {
    const MutexLock lock(mu_);
    *token = token_;
  }
  if (!token->empty()) {
    return {};
  }
  grpc::ClientContext context;
  context.set_deadline(ForGrpc(deadline));
  pb::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  pb::AuthenticateResponse answer;
  grpc::Status s = endpoint.auth->Authenticate(&context, request, &answer);
  if (!s.ok()) {
    return IsWithoutAuth(s) ? grpc::Status::OK : s;
  }
  *token = answer.token();
  const MutexLock lock(mu_);
  token_ = answer.token();
  return {};
}

void Client::ForgetToken(const std::string& token) {
  const MutexLock lock(mu_);
  if (token_ == token) {
    token_.clear();
  }
}

void Client::Leave(const Endpoint& endpoint) {
  size_t at = static_cast<size_t>(&endpoint - endpoints_.data());
  current_.compare_exchange_strong(at, (at + 1) % endpoints_.size());
}

Status Client::Range(const pb::RangeRequest& request, Deadline deadline,
                     pb::RangeResponse* answer) {
  return Call(deadline, [&](const Endpoint& endpoint, grpc::ClientContext* context) {
    return endpoint.kv->Range(context, request, answer);
  });
}

Status Client::Txn(const pb::TxnRequest& request, Deadline deadline, pb::TxnResponse* answer) {
  return Call(deadline, [&](const Endpoint& endpoint, grpc::ClientContext* context) {
    return endpoint.kv->Txn(context, request, answer);
  });
}

Status Client::Compact(int64_t revision, Deadline deadline) {
  return Call(deadline, [&](const Endpoint& endpoint, grpc::ClientContext* context) {
    pb::CompactionRequest request;
    request.set_revision(revision);
    pb::CompactionResponse answer;
    const grpc::Status s = endpoint.kv->Compact(context, request, &answer);
    return IsCompacted(s) ? grpc::Status::OK : s;
  });
}

Status Client::GrantLease(int64_t seconds, Deadline deadline, pb::LeaseGrantResponse* answer) {
  return Call(deadline, [&](const Endpoint& endpoint, grpc::ClientContext* context) {
    pb::LeaseGrantRequest request;
    request.set_ttl(seconds);
    return endpoint.lease->LeaseGrant(context, request, answer);
  });
}

Status Client::KeepLease(int64_t id, Deadline deadline, int64_t* seconds) {
  return Call(deadline, [&](const Endpoint& endpoint, grpc::ClientContext* context) {
    pb::LeaseKeepAliveRequest request;
    request.set_id(id);
    pb::LeaseKeepAliveResponse answer;
    const auto stream = endpoint.lease->LeaseKeepAlive(context);
    const bool answered = stream->Write(request) && stream->WritesDone() && stream->Read(&answer);
    if (answered) {
      context->TryCancel();  // What the stream ends with does not matter.
    }
    const grpc::Status s = stream->Finish();
    *seconds = answer.ttl();
    return answered ? grpc::Status::OK : s;
  });
}

Status Client::RevokeLease(int64_t id, Deadline deadline) {
  return Call(deadline, [&](const Endpoint& endpoint, grpc::ClientContext* context) {
    pb::LeaseRevokeRequest request;
    request.set_id(id);
    pb::LeaseRevokeResponse answer;
    const grpc::Status s = endpoint.lease->LeaseRevoke(context, request, &answer);
    return IsLeaseNotFound(s) ? grpc::Status::OK : s;
  });
}

std::vector<LogMember> Client::Members() {
  struct Question {
    grpc::ClientContext context;
    pb::StatusResponse answer;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<pb::StatusResponse>> reader;
  };
  grpc::CompletionQueue queue;
  std::deque<Question> questions(endpoints_.size());
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    Question& q = questions[i];
    q.context.set_deadline(ForGrpc(std::min(NewDeadline(), steady_clock::now() + kMembersPause)));
    q.context.set_wait_for_ready(true);
    q.reader = endpoints_[i].maintenance->AsyncStatus(&q.context, {}, &queue);
    q.reader->Finish(&q.answer, &q.status, &q);
  }
  void* tag = nullptr;
  bool ok = false;
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    queue.Next(&tag, &ok);  // Each ends by its deadline.
  }
  std::vector<LogMember> members;
  for (size_t i = 0; i < endpoints_.size(); ++i) {
    Question& q = questions[i];
    LogMember& member = members.emplace_back();
    member.endpoint = endpoints_[i].address;
    member.reachable = q.status.ok();
    if (!q.status.ok()) {
      // Without waiting the request fails at once, and says why.
      grpc::ClientContext context;
      context.set_deadline(ForGrpc(steady_clock::now() + kPause));
      pb::StatusResponse answer;
      const grpc::Status why = endpoints_[i].maintenance->Status(&context, {}, &answer);
      if (why.error_code() == grpc::StatusCode::UNAVAILABLE) {
        q.status = why;
      }
      member.problem = FailureText(member.endpoint, options_.user, q.status);
      continue;
    }
    member.leads = q.answer.leader() != 0 && q.answer.leader() == q.answer.header().member_id();
    member.database_bytes = static_cast<uint64_t>(std::max(int64_t{0}, q.answer.dbsize()));
    for (const std::string& error : q.answer.errors()) {
      member.problem += (member.problem.empty() ? "" : "; ") + error;
    }
  }
  return members;
}

Status Client::AddToken(const Endpoint& endpoint, Deadline deadline, grpc::ClientContext* context) {
  std::string token;
  if (const grpc::Status s = Token(endpoint, deadline, &token); !s.ok()) {
    return StreamFailed(endpoint, s);
  }
  if (!token.empty()) {
    context->AddMetadata("token", token);
  }
  return {};
}

Status Client::StreamFailed(const Endpoint& endpoint, const grpc::Status& failure) {
  Leave(endpoint);
  if (IsTokenUnknown(failure)) {
    const MutexLock lock(mu_);
    token_.clear();
  }
  return Status::IOError(FailureText(endpoint.address, options_.user, failure));
}

}  // namespace wq::etcd

#include "storage/etcd/failure.h"

#include <array>

namespace wq::etcd {
namespace {

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

}  // namespace

bool MayPass(const grpc::Status& failure) {
  return failure.error_code() == grpc::StatusCode::UNAVAILABLE ||
         failure.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
         Has(failure, "too many requests");
}

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

}  // namespace wq::etcd

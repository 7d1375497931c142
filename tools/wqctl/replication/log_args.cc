#include "tools/wqctl/replication/log_args.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "server/net/secret_file.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr std::string_view kScheme = "etcd://";
constexpr size_t kMaxPrefixBytes = 512;
constexpr size_t kMaxNameBytes = 64;

wq::Status BadUrl(const std::string& url, const std::string& why) {
  return wq::Status::InvalidArgument("the log \"" + wq::EscapeKey(url, 200) + "\": " + why +
                                     "; it is etcd://HOST:PORT[,HOST:PORT...]/PREFIX");
}

// Of a host, or of a replica.
bool IsNameByte(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
}

// "host:port", "10.0.0.1:2379", "[::1]:2379".
std::string ProblemOfEndpoint(const std::string& endpoint) {
  const std::string shown = "\"" + wq::EscapeKey(endpoint, 100) + "\"";
  if (endpoint.empty()) return "an address is empty";
  const size_t colon = endpoint.rfind(':');
  if (colon == std::string::npos || endpoint.back() == ']') return shown + " has no port";
  const std::string host = endpoint.substr(0, colon);
  const std::string port = endpoint.substr(colon + 1);
  if (host.empty()) return shown + " has no host";
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && !std::all_of(host.begin(), host.end(), IsNameByte))
    return "\"" + wq::EscapeKey(host, 100) + "\" is no host";
  if (!ParseNumber<uint16_t, 1>(port)) {
    return "\"" + wq::EscapeKey(port, 100) + "\" is no port, in " + shown;
  }
  return "";
}

wq::Status CheckReplicaName(const std::string& name, const std::string& where) {
  const bool valid = !name.empty() && name.size() <= kMaxNameBytes &&
                     std::all_of(name.begin(), name.end(), IsNameByte);
  if (valid) return {};
  return wq::Status::InvalidArgument(where + " \"" + wq::EscapeKey(name, 100) +
                                     "\" is no name of a replica: 1 to 64 of A-Z a-z 0-9 . _ -");
}

std::optional<uint64_t> ParseHistoryBytes(std::string_view text) {
  const std::optional<uint64_t> bytes = ParseNumber<uint64_t>(text);
  const bool valid = bytes && (*bytes == 0 || *bytes >= (uint64_t{1} << 20));
  return valid ? bytes : std::nullopt;
}

std::optional<std::chrono::microseconds> ParseHistoryAge(std::string_view text) {
  const std::optional<std::chrono::microseconds> age = ParseDuration(text);
  const bool valid = age && (age->count() == 0 || *age >= std::chrono::minutes(1));
  return valid ? age : std::nullopt;
}

wq::Status NameOfHost(std::string* name) {
  std::array<char, 256> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) {
    return wq::Status::IOError("cannot read the name of this host: " + ErrnoText(errno));
  }
  *name = host.data();
  return CheckReplicaName(*name, "give --replica: the name of this host");
}

// Reads the endpoints and the prefix. InvalidArgument: names the part of the URL that is wrong.
wq::Status ParseLogUrl(const std::string& url, wq::EtcdOptions* options) {
  if (!url.starts_with(kScheme)) return BadUrl(url, "it does not begin with etcd://");
  const size_t slash = url.find('/', kScheme.size());
  if (slash == std::string::npos) return BadUrl(url, "it has no prefix");
  const std::string addresses = url.substr(kScheme.size(), slash - kScheme.size());
  options->prefix = url.substr(slash);
  options->endpoints = absl::StrSplit(addresses, ',');
  for (const std::string& endpoint : options->endpoints) {
    if (std::string why = ProblemOfEndpoint(endpoint); !why.empty()) return BadUrl(url, why);
  }
  const std::string& prefix = options->prefix;
  const std::string shown = "the prefix \"" + wq::EscapeKey(prefix, 100) + "\" ";
  if (prefix == "/") return BadUrl(url, "its prefix is empty");
  if (prefix.back() == '/') return BadUrl(url, shown + "ends with \"/\"");
  if (prefix.size() > kMaxPrefixBytes) return BadUrl(url, shown + "is longer than 512 bytes");
  if (!std::all_of(prefix.begin(), prefix.end(), [](char c) { return c > ' ' && c <= '~'; })) {
    return BadUrl(url, shown + "has a byte that is no visible ASCII character");
  }
  return {};
}

}  // namespace

void AddLogOptions(VerbParser* parser, LogArgs* args, bool with_replica) {
  parser->NonEmpty("--replicate", "URL",
                   "The log by which replicas follow: etcd://HOST:PORT[,...]/PREFIX", &args->url);
  if (with_replica) {
    parser->NonEmpty("--replica", "NAME", "The name of this replica; default: that of the host",
                     &args->replica);
    AddParsed(parser, "--lease", "SECONDS",
              "How long an owner keeps the store without etcd; default 5",
              "a number of seconds from 2 to 3600", ParseNumber<uint32_t, 2, 3600>, &args->lease);
  }
  parser->NonEmpty("--etcd-ca", "FILE", "Use TLS for etcd, whose certificate is of the CA in FILE",
                   &args->etcd_ca);
  parser->NonEmpty("--etcd-cert", "FILE", "The certificate to show to etcd, in PEM",
                   &args->etcd_cert);
  parser->NonEmpty("--etcd-key", "FILE", "The key of that certificate, in PEM", &args->etcd_key);
  parser->NonEmpty("--etcd-user", "USER", "Log in to etcd as USER", &args->etcd_user);
  parser->NonEmpty("--etcd-password-file", "FILE", "The password of USER is in FILE",
                   &args->etcd_password_file);
}

wq::Status CheckLogArgs(const LogArgs& args) {
  const auto bad = [](const char* why) { return wq::Status::InvalidArgument(why); };
  if (args.url.empty()) {
    return args == LogArgs{} ? wq::Status::Ok()
                             : bad("replica, lease and etcd-... go with replicate, which is unset");
  }
  wq::EtcdOptions parsed;
  if (wq::Status s = ParseLogUrl(args.url, &parsed); !s.ok()) return s;
  if (!args.replica.empty()) {
    if (wq::Status s = CheckReplicaName(args.replica, "--replica"); !s.ok()) return s;
  }
  if (args.etcd_cert.empty() != args.etcd_key.empty()) {
    return bad("--etcd-cert and --etcd-key go together");
  }
  if (!args.etcd_cert.empty() && args.etcd_ca.empty())
    return bad("--etcd-cert goes with --etcd-ca");
  if (args.etcd_user.empty() != args.etcd_password_file.empty()) {
    return bad("--etcd-user and --etcd-password-file go together");
  }
  return {};
}

wq::Status OpenLog(const LogArgs& args, std::shared_ptr<wq::ReplicatedLog>* log) {
#ifdef WQ_ETCD
  if (wq::Status s = CheckLogArgs(args); !s.ok()) return s;
  wq::EtcdOptions options;
  if (wq::Status s = ParseLogUrl(args.url, &options); !s.ok()) return s;
  options.ca_file = args.etcd_ca;
  options.cert_file = args.etcd_cert;
  options.key_file = args.etcd_key;
  options.user = args.etcd_user;
  if (!args.etcd_password_file.empty()) {
    wq::Status s = wq::ReadSecretFile("password file", args.etcd_password_file, &options.password);
    if (!s.ok()) return s;
  }
  return wq::OpenEtcdLog(options, log);
#else
  log->reset();
  return wq::Status::NotSupported("cannot use the log " + wq::EscapeKey(args.url, 200) +
                                  ": this wqctl was built without etcd");
#endif
}

wq::Status ReplicationOf(const LogArgs& args, std::optional<wq::Replication>* replication) {
  replication->reset();
  if (wq::Status s = CheckLogArgs(args); !s.ok() || args.url.empty()) return s;
  wq::Replication made;
  made.name = args.replica;
  if (made.name.empty()) {
    if (wq::Status s = NameOfHost(&made.name); !s.ok()) return s;
  }
  if (args.lease) made.lease = std::chrono::seconds{*args.lease};
  wq::Status s = OpenLog(args, &made.log);
  if (s.ok()) *replication = std::move(made);
  return s;
}

wq::StoreOptions ToolStoreOptions() {
  wq::StoreOptions options;
  options.history_bytes = uint64_t{64} << 20;
  return options;
}

void AddHistoryOptions(VerbParser* parser, wq::StoreOptions* options) {
  AddParsed(parser, "--history-bytes", "N",
            "Record the last events of each key, in N bytes; 0: none; default 67108864",
            "a number of bytes, 0 or at least 1048576", ParseHistoryBytes, &options->history_bytes);
  AddParsed(parser, "--history-age", "DURATION",
            "Delete events that are older; default 0s: when --history-bytes are used up",
            "a duration of at least a minute, such as 168h, or 0s", ParseHistoryAge,
            &options->history_age);
}

void AddDurability(VerbParser* parser, std::optional<wq::Durability>* durability) {
  AddChoice<wq::Durability>(parser, "--durability",
                            "What a change survives before it counts as done; default process, "
                            "with --replicate replicated",
                            "a durability: ", DurabilityWords(), durability);
}

wq::Durability DurabilityOf(const std::optional<wq::Durability>& durability, bool replicated) {
  return durability.value_or(replicated ? wq::Durability::kReplicated : wq::Durability::kProcess);
}

}  // namespace wqctl

// Makes a client from the options: checks them, reads the files of TLS, makes the channels.
#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "storage/etcd/client.h"
#include "storage/etcd/log.h"

namespace wq {
namespace etcd {
namespace {

constexpr size_t kMaxPrefixBytes = 512;

Status CheckEndpoint(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  const std::string port = colon == std::string::npos ? "" : endpoint.substr(colon + 1);
  const bool digits =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (colon == 0 || !digits || endpoint.find('/') != std::string::npos) {
    return Status::InvalidArgument("EtcdOptions::endpoints: \"" + endpoint + "\" is not host:port");
  }
  return {};
}

Status Check(const EtcdOptions& options) {
  if (options.endpoints.empty()) {
    return Status::InvalidArgument("EtcdOptions::endpoints is empty");
  }
  for (const std::string& endpoint : options.endpoints) {
    if (Status s = CheckEndpoint(endpoint); !s.ok()) {
      return s;
    }
  }
  if (options.prefix.empty() || options.prefix.size() > kMaxPrefixBytes) {
    return Status::InvalidArgument("EtcdOptions::prefix has " +
                                   std::to_string(options.prefix.size()) +
                                   " bytes; it must have 1 to 512");
  }
  if (options.cert_file.empty() != options.key_file.empty()) {
    return Status::InvalidArgument("EtcdOptions::cert_file and key_file: set both or none");
  }
  if (options.ca_file.empty() && !options.cert_file.empty()) {
    return Status::InvalidArgument("EtcdOptions::cert_file is set, but ca_file is not");
  }
  if (options.user.empty() && !options.password.empty()) {
    return Status::InvalidArgument("EtcdOptions::password is set, but user is not");
  }
  if (options.request_timeout < std::chrono::milliseconds(1)) {
    return Status::InvalidArgument("EtcdOptions::request_timeout is not positive");
  }
  return {};
}

Status ReadPem(const std::string& path, std::string* contents) {
  if (path.empty()) {
    return {};
  }
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return errno == ENOENT ? Status::NotFound("there is no file " + path)
                           : IOErrorOf("open", path, errno);
  }
  std::array<char, 16384> part{};
  ssize_t got = 0;
  while ((got = read(file.get(), part.data(), part.size())) > 0) {
    contents->append(part.data(), static_cast<size_t>(got));
  }
  return got == 0 ? Status::Ok() : IOErrorOf("read", path, errno);
}

Status Credentials(const EtcdOptions& options,
                   std::shared_ptr<grpc::ChannelCredentials>* credentials) {
  if (options.ca_file.empty()) {
    *credentials = grpc::InsecureChannelCredentials();
    return {};
  }
  grpc::SslCredentialsOptions tls;
  Status s = ReadPem(options.ca_file, &tls.pem_root_certs);
  if (s.ok()) s = ReadPem(options.cert_file, &tls.pem_cert_chain);
  if (s.ok()) s = ReadPem(options.key_file, &tls.pem_private_key);
  if (s.ok()) *credentials = grpc::SslCredentials(tls);
  return s;
}

grpc::ChannelArguments Arguments(const EtcdOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // Requests bound their answers.
  // After a failure the next connection is tried soon: an owner has only its lease's time.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Despite its name, the time that one connection may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(std::min<int64_t>(options.request_timeout.count(), 20'000)));
  // A cut link is noticed within seconds, and not when TCP gives up. etcd closes connections that
  // ping more often than each 5 s, or without a call (--grpc-keepalive-min-time).
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 5500);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Each log has connections of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy of the environment is for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

}  // namespace

Status Client::Open(const EtcdOptions& options, std::shared_ptr<Client>* client) {
  if (Status s = Check(options); !s.ok()) {
    return s;
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  if (Status s = Credentials(options, &credentials); !s.ok()) {
    return s;
  }
  std::shared_ptr<Client> made(new Client(options));
  for (const std::string& address : options.endpoints) {
    Endpoint& endpoint = made->endpoints_.emplace_back();
    endpoint.address = address;
    endpoint.channel = grpc::CreateCustomChannel(address, credentials, Arguments(options));
    endpoint.kv = pb::KV::NewStub(endpoint.channel);
    endpoint.lease = pb::Lease::NewStub(endpoint.channel);
    endpoint.watch = pb::Watch::NewStub(endpoint.channel);
    endpoint.maintenance = pb::Maintenance::NewStub(endpoint.channel);
    endpoint.auth = pb::Auth::NewStub(endpoint.channel);
  }
  *client = std::move(made);
  return {};
}

}  // namespace etcd

Status OpenEtcdLog(const EtcdOptions& options, std::shared_ptr<ReplicatedLog>* log) {
  std::shared_ptr<etcd::Client> client;
  if (Status s = etcd::Client::Open(options, &client); !s.ok()) {
    return s;
  }
  *log = std::make_shared<etcd::EtcdLog>(std::move(client));
  return {};
}

}  // namespace wq

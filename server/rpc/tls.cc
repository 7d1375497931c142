#include "server/rpc/tls.h"

#include <grpcpp/completion_queue.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/files.h"

namespace wq {
namespace {

constexpr unsigned kReadAgainSeconds = 60;

Status ReadPem(const std::string& path, std::string* text) {
  std::error_code error;
  if (const auto type = std::filesystem::status(path, error).type();
      type == std::filesystem::file_type::fifo) {  // To open it would wait for its writer.
    return Status::InvalidArgument(path + " is no regular file");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  text->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) {
    return errno == ENOENT ? Status::NotFound("there is no file " + path)
                           : IOErrorOf("cannot read", path, errno);
  }
  return text->find("-----BEGIN ") != std::string::npos
             ? Status::Ok()
             : Status::InvalidArgument(path + " has nothing in PEM format");
}

// Credentials that watch files tell nobody that gRPC cannot use what they read: each connection
// then fails. So a server without a service, on a port that nobody knows, tries the same files
// first. gRPC says on stderr what it does not take.
bool IsUsable(const std::string& certificate, const std::string& key,
              const std::string& client_ca) {
  grpc::SslServerCredentialsOptions options(
      client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                        : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_key_cert_pairs.push_back({key, certificate});
  options.pem_root_certs = client_ca;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options));
  const auto queue = builder.AddCompletionQueue();  // No server starts without one.
  const auto server = builder.BuildAndStart();
  if (server != nullptr) {
    server->Shutdown();
  }
  queue->Shutdown();
  void* tag = nullptr;
  for (bool ok = false; queue->Next(&tag, &ok);) {
  }
  return server != nullptr;
}

}  // namespace

Status MakeTlsCredentials(const TlsFiles& files,
                          std::shared_ptr<grpc::ServerCredentials>* credentials) {
  std::string certificate;
  std::string key;
  std::string client_ca;
  if (Status s = ReadPem(files.certificate_file, &certificate); !s.ok()) return s;
  if (Status s = ReadPem(files.key_file, &key); !s.ok()) return s;
  if (!IsUsable(certificate, key, "")) {
    return Status::InvalidArgument(files.key_file + " is not the key of the certificate in " +
                                   files.certificate_file +
                                   ", has a passphrase, or one of them is damaged");
  }
  if (!files.client_ca_file.empty()) {
    if (Status s = ReadPem(files.client_ca_file, &client_ca); !s.ok()) return s;
    if (!IsUsable(certificate, key, client_ca)) {
      return Status::InvalidArgument(files.client_ca_file + " has no certificate of a CA");
    }
  }
  using grpc::experimental::FileWatcherCertificateProvider;
  const auto provider = std::make_shared<FileWatcherCertificateProvider>(
      files.key_file, files.certificate_file, files.client_ca_file, kReadAgainSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (files.client_ca_file.empty()) {
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  *credentials = grpc::experimental::TlsServerCredentials(options);
  return {};
}

}  // namespace wq

#include "server/rpc/tls.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/files.h"

namespace wq {
namespace {

constexpr unsigned kReadAgainSeconds = 60;

Status CheckPem(const std::string& path) {
  std::error_code error;
  if (const auto type = std::filesystem::status(path, error).type();
      type == std::filesystem::file_type::fifo) {  // To open it would wait for its writer.
    return Status::InvalidArgument(path + " is no regular file");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) {
    return errno == ENOENT ? Status::NotFound("there is no file " + path)
                           : IOErrorOf("cannot read", path, errno);
  }
  return text.find("-----BEGIN ") != std::string::npos
             ? Status::Ok()
             : Status::InvalidArgument(path + " has nothing in PEM format");
}

}  // namespace

Status MakeTlsCredentials(const TlsFiles& files,
                          std::shared_ptr<grpc::ServerCredentials>* credentials) {
  for (const std::string* const path :
       {&files.certificate_file, &files.key_file, &files.client_ca_file}) {
    if (path->empty()) {
      continue;
    }
    if (Status s = CheckPem(*path); !s.ok()) {
      return s;
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

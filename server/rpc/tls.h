// TLS credentials of the server, from files in PEM format.
#pragma once

#include <memory>
#include <string>

#include "wq/status.h"

namespace grpc {
class ServerCredentials;
}

namespace wq {

struct TlsFiles {
  std::string certificate_file;  // The chain, the server's own certificate first.
  std::string key_file;
  std::string client_ca_file;  // Empty: clients need no certificate.
};

// The files are read again every minute, so that a renewed certificate counts for the connections
// that come after it. NotFound, IOError: a file cannot be read. InvalidArgument: it has nothing in
// PEM format, the key does not fit the certificate, or gRPC cannot use one of them.
Status MakeTlsCredentials(const TlsFiles& files,
                          std::shared_ptr<grpc::ServerCredentials>* credentials);

}  // namespace wq

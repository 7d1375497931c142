// A replicated log that etcd keeps, in C. It is not part of libwq, and wq/wq.h does not include it:
// the library wq_etcd (pkg-config wq-etcd), which links gRPC, has it. wq/etcd_log.h describes the
// options.
//
//   const char* const endpoints[] = {"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"};
//   wq_etcd_options etcd = {.size = sizeof etcd, .endpoints = endpoints, .endpoint_count = 3,
//                           .prefix = "/wq/pod-controller"};
//   wq_replicated_log* log = NULL;
//   code = wq_etcd_log_open(&etcd, &log, &error);
//
// Threading, lifetime: see wq/c/replicated_log.h.
#pragma once

#include "wq/c/base.h"
#include "wq/c/replicated_log.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wq_etcd_options {
  size_t size;
  const char* const* endpoints;  // Each "host:port". At least one.
  size_t endpoint_count;
  const char* prefix;  // Of all keys of the log in etcd.
  // TLS is used if ca_file is set. cert_file and key_file: both or none. PEM.
  const char* ca_file;
  const char* cert_file;
  const char* key_file;
  const char* user;  // NULL: etcd is used without authentication.
  const char* password;
  uint32_t request_timeout_ms;  // 0: 2000.
  int32_t no_compaction;        // 1: etcd's history is dropped by something else.
} wq_etcd_options;

// Opens the log; *log is freed by wq_replicated_log_free. Connects to no endpoint yet.
// WQ_INVALID_ARGUMENT (the message names the option); WQ_NOT_FOUND, WQ_IO_ERROR: a file of TLS
// cannot be read; WQ_NOT_SUPPORTED: the library was built without etcd.
WQ_EXPORT wq_code wq_etcd_log_open(const wq_etcd_options* options, wq_replicated_log** log,
                                   wq_error* error);

#ifdef __cplusplus
}
#endif

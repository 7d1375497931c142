// The C interface of the library wq_etcd. It uses nothing that libwq.so does not export.

#include "wq/c/etcd.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/replicated_log.h"
#include "bindings/c/boundary/report.h"
#include "wq/etcd_log.h"

namespace {

using wq::Status;

std::string TextOf(const char* text) { return text == nullptr ? std::string() : text; }

Status ToEtcdOptions(const wq_etcd_options& in, wq::EtcdOptions* out) {
  if (in.endpoint_count > 0 && in.endpoints == nullptr) {
    return wq::c::NullArgument("options.endpoints");
  }
  for (size_t i = 0; i < in.endpoint_count; ++i) {
    if (in.endpoints[i] == nullptr) {
      return Status::InvalidArgument("options.endpoints[" + std::to_string(i) + "] is NULL");
    }
    out->endpoints.emplace_back(in.endpoints[i]);
  }
  out->prefix = TextOf(in.prefix);
  out->ca_file = TextOf(in.ca_file);
  out->cert_file = TextOf(in.cert_file);
  out->key_file = TextOf(in.key_file);
  out->user = TextOf(in.user);
  out->password = TextOf(in.password);
  if (in.request_timeout_ms != 0) {
    out->request_timeout = std::chrono::milliseconds(in.request_timeout_ms);
  }
  out->compact = in.no_compaction == 0;
  return {};
}

Status Open(const wq_etcd_options* options, wq_replicated_log** log) {
  wq_etcd_options given;
  wq::EtcdOptions etcd;
  if (Status s = wq::c::FirstError({wq::c::NoneYet("log", log),
                                    wq::c::ReadSized("options", options, &given),
                                    ToEtcdOptions(given, &etcd)});
      !s.ok()) {
    return s;
  }
  auto made = std::make_unique<wq_replicated_log>();
  if (Status s = wq::OpenEtcdLog(etcd, &made->log); !s.ok()) {
    return s;
  }
  *log = made.release();
  return {};
}

}  // namespace

extern "C" wq_code wq_etcd_log_open(const wq_etcd_options* options, wq_replicated_log** log,
                                    wq_error* error) {
  try {
    return wq::c::Report(error, Open(options, log));
  } catch (...) {
    return wq::c::ReportException(error);
  }
}

// The log behind a wq_replicated_log. libwq and the library wq_etcd, which are of one version, both
// use it. Threading: immutable after construction.
#pragma once

#include <memory>

#include "wq/c/replicated_log.h"
#include "wq/replicated_log.h"

struct wq_replicated_log {
  std::shared_ptr<wq::ReplicatedLog> log;  // Not null.
};

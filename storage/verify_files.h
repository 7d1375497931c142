// VerifyFiles: every check of a store's files. Unlike an opening, it continues after the first
// finding. Internal to storage/ and engine/.
//
//   FilesReport report;
//   Status s = VerifyFiles("/var/lib/pods.wq", {}, &report);
//
// Changes nothing. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wq/status.h"
#include "wq/verify.h"

namespace wq::storage {

struct FilesReport {
  std::vector<Status>
      findings;  // Each names its file. Empty: an opening would find nothing either.
  uint64_t tables = 0;
  uint64_t logs = 0;
  uint64_t records = 0;  // About so many are in them.
};

// `progress` may be empty; its step is "checking files".
// NotFound, NotSupported, InvalidArgument as OpenStorage, without a report. IOError: a file could
// not be read, or a running owner is too busy: findings count only if it changed no file during the
// checks. Blocks: reads the whole store.
Status VerifyFiles(const std::string& dir, const ProgressCallback& progress, FilesReport* report);

}  // namespace wq::storage

// The checks of a store's files, one by one, for verify: unlike an opening it goes on after the first
// thing that is wrong. Internal to storage/ and engine/.
//
//   FilesReport report;
//   Status s = VerifyFiles("/var/lib/pods.wq", &report);
//
// Changes nothing. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wq/status.h"

namespace wq::storage {

struct FilesReport {
  std::vector<Status> findings;  // Each names its file. Empty: an opening will find nothing either.
  uint64_t tables = 0;
  uint64_t logs = 0;
};

// NotFound, NotSupported, InvalidArgument as OpenStorage; then there is no report. IOError: something
// could not be read. Beside a running owner: of a moment in which it changed no file.
Status VerifyFiles(const std::string& dir, FilesReport* report);

}  // namespace wq::storage

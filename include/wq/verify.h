// Verify: every check that can be made of a store without owning it and without changing one byte.
//
//   wq::VerifyReport report;
//   wq::Status s = wq::Verify("/var/lib/pod-controller", {}, &report);
//   for (const wq::Finding& f : report.findings) std::cerr << f.where << ": " << f.what << "\n";
//
// Goes on after what it finds wrong, as far as that leaves anything to look at: the files of the
// directory, every block of every table and every record of the logs, every row of every family,
// and the rows against one another. Beside a running owner it sees the moment of its beginning.
// Threading: thread-safe. Memory: 16 bytes for each pending key of the queue that has the most, and up
// to twice that for moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wq/status.h"

namespace wq {

// Something that is wrong.
struct Finding {
  std::string where;  // The file, or the queue, or the family. Escaped: fit for one line.
  std::string what;   // In words. Escaped, too.
};

struct VerifyReport {
  std::vector<Finding> findings;  // Empty: the store is sound.
  uint64_t more_findings = 0;     // How many there are beyond VerifyOptions::max_findings.
  bool owner_alive = false;       // Then what was looked at is a moment's view.

  // How much was looked at.
  uint64_t tables = 0;
  uint64_t logs = 0;
  uint64_t queues = 0;
  uint64_t rows = 0;

  bool ok() const { return findings.empty(); }
};

struct VerifyOptions {
  size_t max_findings = 1000;  // What bounds the memory of a report.
};

// Ok if the store was looked at, whatever was found: see the report.
//   NotFound        there is no store. NotSupported: of another format version.
//   InvalidArgument `dir` is a symbolic link.
//   IOError         something could not be read.
// Blocks: for reading the whole store.
Status Verify(const std::string& dir, const VerifyOptions& options, VerifyReport* report);

}  // namespace wq

// Verify: makes every check of a store that needs neither its ownership nor a change of one byte.
//
//   wq::VerifyReport report;
//   wq::Status s = wq::Verify("/var/lib/pod-controller", {}, &report);
//   for (const wq::Finding& f : report.findings) std::cerr << f.where << ": " << f.what << "\n";
//
// Checks the files of the directory, every block of every table and every record of the logs,
// every row of every column family, and the rows against one another. It goes on after a finding
// as far as the rest can be read. Beside a running owner it checks the store as it was when the
// call began.
// Memory: up to 25 bytes for each pending key of the largest queue.
// Threading: thread-safe. Lifetime: keeps nothing after the call. A crash:
// changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace wq {

// How far a call is that reads or writes a whole store: Verify; Repair, CreateSnapshot
// and RestoreSnapshot have it, too.
struct Progress {
  enum class Unit : uint8_t { kBytes, kRecords, kNone };  // kNone: the step is not counted.

  std::string_view step;  // What is being done, in words: "checking files".
  Unit unit = Unit::kBytes;
  uint64_t done = 0;   // Units of this step. Does not decrease within a step.
  uint64_t total = 0;  // 0: unknown. Records are estimated: `done` may exceed it.
};

// Called by the thread that makes the call, during the call, without a lock: at the beginning of
// each step, with `done` 0, and then each time that about a mebibyte, a file or a thousand records
// are done. A step may begin again, if an owner changed the files that it was reading. It must
// return soon, since the call waits for it, and must not throw.
using ProgressCallback = std::function<void(const Progress&)>;

// A defect of the store.
struct Finding {
  std::string where;  // The file, the queue, or the column family. Escaped for one line.
  std::string what;   // In words. Escaped for one line.
};

struct VerifyReport {
  std::vector<Finding> findings;  // Empty: the store is sound.
  uint64_t more_findings = 0;     // How many more than VerifyOptions::max_findings were found.
  bool owner_alive = false;       // A process owned it; it was checked as of one instant.

  // How much was checked.
  uint64_t tables = 0;
  uint64_t logs = 0;
  uint64_t queues = 0;
  uint64_t rows = 0;

  bool ok() const { return findings.empty(); }
};

struct VerifyOptions {
  // Bounds the findings of a report, and so its memory; further findings are counted. Default:
  // 1000.
  size_t max_findings = 1000;
  // Told how far the call is: "checking files", "checking rows". Default: nullptr, nobody.
  ProgressCallback progress = nullptr;
};

// Checks the store in `dir`. Ok: it was checked, whatever was found: see the report.
//   NotFound         the store does not exist.
//   NotSupported     it has another format version.
//   InvalidArgument  `dir` is a symbolic link.
//   IOError          a file could not be read.
// Blocks: for reading the whole store.
Status Verify(const std::string& dir, const VerifyOptions& options, VerifyReport* report);

}  // namespace wq

// Reading RocksDB's manifest of a store: its families, their table files, and which write-ahead
// logs are needed in addition. Internal to storage/.
//
//   Manifest manifest;
//   Status s = ReadManifest("/var/lib/pods.wq", &manifest);
//   for (const auto& [id, family] : manifest.families) …
//
// RocksDB treats a manifest whose end is missing as if its writer had been killed, and opens an
// older state. The file itself cannot show the difference, but the files that it names can: an
// older state names tables and logs that were removed since. So the check of the logs (wal_check.h)
// needs the manifest.
//
// The framing is that of log_scan.h; a record is a sequence of tagged fields, numbers as varints.
// Threading: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "wq/status.h"

namespace wq::storage {

struct ManifestFamily {
  std::string name;
  std::optional<uint64_t> log_number;   // Its tables contain everything of older logs.
  std::map<uint64_t, uint64_t> tables;  // Bytes by file number.
  // The first and last key of each table by its file number, with RocksDB's eight bytes of
  // sequence and type.
  std::map<uint64_t, std::pair<std::string, std::string>> bounds = {};
};

struct Manifest {
  std::string path;
  uint64_t number = 0;  // Of the file. The log that was made with it has the number before.
  std::map<uint32_t, ManifestFamily> families;
  uint64_t last_sequence = 0;  // The highest in any table.
  uint64_t log_to_keep = 0;    // No older log is needed.
  uint64_t bytes = 0;          // Of the file, to the end of the last complete record.
  bool zeroed = false;         // Zeros replace the rest of the next record: see log_scan.h.
  std::set<uint64_t> logs;     // That were the `log_number` of a family, now or before.

  // What determines FirstLog(). A manifest begins with the state at its creation; changes follow.
  enum class FirstLogFrom : uint8_t {
    kInitialState,
    kChange,     // A change made a present log the first that is needed.
    kAgreement,  // All families have the same log number; a log of this number may not exist yet.
  };
  FirstLogFrom first_log_from = FirstLogFrom::kInitialState;

  // The number of the first log that is needed.
  uint64_t FirstLog() const;
  // "MANIFEST-000005".
  std::string Name() const { return path.substr(path.rfind('/') + 1); }
};

// Reads the manifest that CURRENT names. Corruption names the file.
Status ReadManifest(const std::string& dir, Manifest* manifest);

// "000012.sst".
std::string TableName(uint64_t number);
// "000012.log".
std::string LogName(uint64_t number);

}  // namespace wq::storage

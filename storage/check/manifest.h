// What RocksDB's manifest says of a store: its families, the table files that they consist of, and
// which write-ahead logs are needed besides. Internal to storage/.
//
//   Manifest manifest;
//   Status s = ReadManifest("/var/lib/pods.wq", &manifest);
//   for (const auto& [id, family] : manifest.families) …
//
// RocksDB takes a manifest whose end is missing for one whose writer was killed, and shows an older
// state. Nothing in the file can tell the two apart, but what it names can: an older state names
// tables and logs that are gone since. So the look at the logs (wal_check.h) needs to know them.
//
// The framing is log_scan.h's; a record is a row of tagged fields, numbers as varints. Threading:
// plain data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "wq/status.h"

namespace wq::storage {

struct ManifestFamily {
  std::string name;
  std::optional<uint64_t> log_number;   // All of older logs is in its tables.
  std::map<uint64_t, uint64_t> tables;  // Bytes by file number.
};

struct Manifest {
  std::string path;
  uint64_t number = 0;  // Of the file. The log that was made with it is the one before.
  std::map<uint32_t, ManifestFamily> families;
  uint64_t last_sequence = 0;  // The highest in any table.
  uint64_t log_to_keep = 0;    // No older log is needed.
  uint64_t bytes = 0;          // Of the file, up to the end of the last whole record.
  bool zeroed = false;         // Behind them zeros stand for the rest of a record: see log_scan.h.

  // A manifest begins with a picture of its moment; changes follow.
  enum class FirstLogFrom : uint8_t {
    kPicture,
    kChange,     // A log that became the first one that is needed: it was there.
    kAgreement,  // All families came to the same one. It may be the number after the last log's.
  };
  FirstLogFrom first_log_from = FirstLogFrom::kPicture;

  // The number of the first log that is needed.
  uint64_t FirstLog() const;
};

// Reads the manifest that CURRENT names. Corruption names the file.
Status ReadManifest(const std::string& dir, Manifest* manifest);

// Reads it again and again beside a running owner, each time only what was appended since.
//
//   ManifestReader reader(dir);
//   Status s = reader.Read();  // As ReadManifest. reader.manifest() is what the file says by now.
class ManifestReader {
 public:
  explicit ManifestReader(std::string dir);
  ~ManifestReader();
  Status Read();
  // REQUIRES: Read() was called. Whole if it was Ok.
  const Manifest& manifest() const;

 private:
  struct File;
  const std::string dir_;
  std::unique_ptr<File> file_;  // What was read of the present one.
};

// "000012.sst".
std::string TableName(uint64_t number);

}  // namespace wq::storage

// SortedRecords: sorts any number of records by their sort keys, in bounded memory. Sorted parts
// are written to files without a name, so a crash leaves none; Begin writes the last part.
//
//   SortedRecords records(size_t{32} << 20, "/tmp");
//   Status s = records.Add(sort_key, value);
//   if (s.ok()) s = records.Begin();
//   for (; s.ok() && records.Valid(); s = records.Next()) Use(records.key(), records.value());
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace wq {

class SortedRecords {
 public:
  SortedRecords(size_t memory_bytes, std::string scratch_dir);

  Status Add(std::string_view key, std::string_view value);
  // After the last Add.
  Status Begin();
  bool Valid() const { return !heads_.empty(); }
  Status Next();
  // REQUIRES: Valid(). Until Next.
  std::string_view key() const { return heads_.front()->key; }
  std::string_view value() const { return heads_.front()->value; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;
  // A sorted file, and its first unread record.
  struct Run {
    File file;
    std::string key;
    std::string value;
  };
  struct Row {
    size_t at;  // In bytes_; the value follows the key.
    uint32_t key_bytes;
    uint32_t value_bytes;
  };

  Status Spill();
  Status ReadHead(Run* run, bool* any);
  static bool Later(const Run* a, const Run* b) { return a->key > b->key; }

  const size_t memory_bytes_;
  const std::string scratch_dir_;
  std::string bytes_;
  std::vector<Row> rows_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Run*> heads_;  // A heap: the smallest key is in front.
};

}  // namespace wq

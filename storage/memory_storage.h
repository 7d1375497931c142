// MemoryStorage: a Storage in maps, for tests. What was written outlives the Storage object in its
// MemoryDisk, so that a test can crash and reopen; a limit on mutations makes writes fail.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "storage/storage.h"

namespace wq::storage {

// The records, as a disk would hold them. Thread-safe.
struct MemoryDisk {
  std::mutex mu;
  std::array<std::map<std::string, std::string, std::less<>>, kFamilyCount> families;  // Under mu.
  uint64_t writes = 0;               // Write calls that succeeded. Under mu.
  uint64_t syncs = 0;                // Syncs, by Write or by Sync. Under mu.
  uint64_t fail_after = UINT64_MAX;  // Write calls until each one fails. Under mu.
  bool fail_reopen = false;          // Each Reopen fails. Under mu.
  bool apply_failed =
      false;  // A Write that fails is there nevertheless, if it is the first. Under mu.
};

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  Status Write(MutationBatch& batch, bool sync) override;
  Status Sync() override;
  Status Reopen() override;
  Status Close() override;

 private:
  void Apply(const MutationBatch& batch);  // Under disk_->mu.

  std::shared_ptr<MemoryDisk> disk_;
  bool failed_ = false;  // After the first failed Write. Under disk_->mu.
};

}  // namespace wq::storage

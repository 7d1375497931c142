// MemoryStorage: a Storage in maps, for tests. Its records are in a MemoryDisk that outlives it, so
// that a test can crash and reopen a store, and make writes fail.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "storage/storage.h"

namespace wq::storage {

// The records, as a disk would hold them, and the faults that a test asks for. Thread-safe.
struct MemoryDisk {
  using Records = std::map<std::string, std::string, std::less<>>;
  struct State {
    std::array<Records, kFamilyCount> families;
    uint64_t writes = 0;               // Write calls that succeeded.
    uint64_t syncs = 0;                // Syncs, by Write or by Sync.
    uint64_t fail_after = UINT64_MAX;  // How many more Write calls succeed; later ones fail.
    bool fail_reopen = false;          // Each Reopen fails.
    bool apply_failed = false;         // The first Write that fails is applied all the same.
  };

  Mutex mu;
  State state WQ_GUARDED_BY(mu);
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
  std::unique_ptr<Reader> Snapshot() const override;
  Status Close() override;

 private:
  const std::shared_ptr<MemoryDisk> disk_;
  bool failed_ WQ_GUARDED_BY(disk_->mu) = false;  // A Write has failed since the last Reopen.
};

}  // namespace wq::storage

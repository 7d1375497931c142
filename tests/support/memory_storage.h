// MemoryStorage: a Storage in maps, for tests. Its records are in a MemoryDisk that outlives it, so
// that a test can crash and reopen a store, and make writes fail.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "storage/storage.h"

namespace wq::storage {

// The records, as a disk would hold them, and the faults that a test asks for. Thread-safe.
struct MemoryDisk {
  using Records = std::map<std::string, std::string, std::less<>>;
  using Families = std::array<Records, kFamilyCount>;
  struct State {
    Families families;
    std::optional<Families> synced;  // What the next Reopen finds: the system dropped the rest.
    uint64_t writes = 0;             // Write calls that succeeded.
    uint64_t syncs = 0;              // Syncs, by Write or by Sync.
    // How many more Write calls succeed; later ones fail, and each Sync then.
    uint64_t fail_after = UINT64_MAX;
    uint64_t fail_gets = 0;     // So many calls of Get fail next.
    bool fail_reopen = false;   // Each Reopen fails.
    bool apply_failed = false;  // The first Write that fails is applied all the same.
  };

  Mutex mu;
  State state WQ_GUARDED_BY(mu);
};

inline Status MemoryWriteFailed() {
  return Status::IOError("the store failed earlier and has to be opened anew");
}

inline void ApplyTo(const MutationBatch& batch, MemoryDisk::State* state) {
  batch.ForEach([state](const Mutation& mutation) {
    auto& records = state->families[static_cast<size_t>(mutation.family)];
    if (mutation.is_put) {
      records.insert_or_assign(std::string(mutation.key), std::string(mutation.value));
    } else if (const auto it = records.find(mutation.key); it != records.end()) {
      records.erase(it);
    }
  });
}

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  Status Get(Family family, std::string_view key, std::string* value) const override;
  Status Scan(Family family, std::string_view begin, std::string_view end,
              const Visitor& visit) const override;
  Status Write(MutationBatch& batch, bool sync) override;
  Status Sync() override;
  Status ScanUnsynced(Family family, const Visitor& visit) const override {
    return Scan(family, "", "", visit);
  }
  Status Reopen() override;
  std::unique_ptr<Reader> Snapshot() const override;
  Status Close() override;

 private:
  const std::shared_ptr<MemoryDisk> disk_;
  bool failed_ WQ_GUARDED_BY(disk_->mu) = false;  // A call has failed since the last Reopen.
};

inline Status MemoryStorage::Get(Family family, std::string_view key, std::string* value) const {
  const MutexLock lock(disk_->mu);
  if (disk_->state.fail_gets > 0) {
    --disk_->state.fail_gets;
    return Status::IOError("a read failed");
  }
  const auto& records = disk_->state.families[static_cast<size_t>(family)];
  const auto it = records.find(key);
  if (it == records.end()) return Status::NotFound("no such record");
  *value = it->second;
  return Status::Ok();
}

inline Status MemoryStorage::Scan(Family family, std::string_view begin, std::string_view end,
                                  const Visitor& visit) const {
  // One record at a time, and no lock while it is visited: the visitor may read, too.
  std::optional<std::string> last;
  std::string key;
  std::string value;
  for (;;) {
    {
      const MutexLock lock(disk_->mu);
      const auto& records = disk_->state.families[static_cast<size_t>(family)];
      const auto it = last ? records.upper_bound(*last) : records.lower_bound(begin);
      if (it == records.end() || (!end.empty() && it->first >= end)) return Status::Ok();
      key = it->first;
      value = it->second;
    }
    if (!visit(key, value)) return Status::Ok();
    last = key;
  }
}

inline Status MemoryStorage::Write(MutationBatch& batch, bool sync) {
  const MutexLock lock(disk_->mu);
  if (disk_->state.fail_after == 0) {
    if (!failed_ && disk_->state.apply_failed) ApplyTo(batch, &disk_->state);
    failed_ = true;
  }
  if (failed_) return MemoryWriteFailed();
  if (disk_->state.fail_after != UINT64_MAX) --disk_->state.fail_after;
  ApplyTo(batch, &disk_->state);
  ++disk_->state.writes;
  if (sync) ++disk_->state.syncs;
  return Status::Ok();
}

inline Status MemoryStorage::Sync() {
  const MutexLock lock(disk_->mu);
  failed_ = failed_ || disk_->state.fail_after == 0;
  if (failed_) return MemoryWriteFailed();
  ++disk_->state.syncs;
  return Status::Ok();
}

inline Status MemoryStorage::Reopen() {
  const MutexLock lock(disk_->mu);
  failed_ = disk_->state.fail_reopen;
  if (!failed_ && disk_->state.synced.has_value()) {
    disk_->state.families = *std::exchange(disk_->state.synced, std::nullopt);
  }
  return failed_ ? Status::IOError("the disk is not back") : Status::Ok();
}

inline std::unique_ptr<Reader> MemoryStorage::Snapshot() const {
  auto copy = std::make_shared<MemoryDisk>();
  {
    const MutexLock lock(disk_->mu);
    const MutexLock copy_lock(copy->mu);
    copy->state.families = disk_->state.families;
  }
  return std::make_unique<MemoryStorage>(std::move(copy));
}

inline Status MemoryStorage::Close() {
  const MutexLock lock(disk_->mu);
  return failed_ ? MemoryWriteFailed() : Status::Ok();
}

}  // namespace wq::storage

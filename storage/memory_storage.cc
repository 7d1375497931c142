#include "storage/memory_storage.h"

#include <optional>
#include <utility>

namespace wq::storage {
namespace {

Status WriteFailed() {
  return Status::IOError("the store failed earlier and has to be opened anew");
}

void Apply(const MutationBatch& batch, MemoryDisk::State* state) {
  batch.ForEach([state](const Mutation& mutation) {
    auto& records = state->families[static_cast<size_t>(mutation.family)];
    if (mutation.is_put) {
      records.insert_or_assign(std::string(mutation.key), std::string(mutation.value));
    } else if (const auto it = records.find(mutation.key); it != records.end()) {
      records.erase(it);
    }
  });
}

}  // namespace

Status MemoryStorage::Get(Family family, std::string_view key, std::string* value) const {
  const MutexLock lock(disk_->mu);
  const auto& records = disk_->state.families[static_cast<size_t>(family)];
  const auto it = records.find(key);
  if (it == records.end()) return Status::NotFound("no such record");
  *value = it->second;
  return Status::Ok();
}

Status MemoryStorage::Scan(Family family, std::string_view begin, std::string_view end,
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

Status MemoryStorage::Write(MutationBatch& batch, bool sync) {
  const MutexLock lock(disk_->mu);
  if (disk_->state.fail_after == 0) {
    if (!failed_ && disk_->state.apply_failed) Apply(batch, &disk_->state);
    failed_ = true;
  }
  if (failed_) return WriteFailed();
  if (disk_->state.fail_after != UINT64_MAX) --disk_->state.fail_after;
  Apply(batch, &disk_->state);
  ++disk_->state.writes;
  if (sync) ++disk_->state.syncs;
  return Status::Ok();
}

Status MemoryStorage::Sync() {
  const MutexLock lock(disk_->mu);
  if (failed_) return WriteFailed();
  ++disk_->state.syncs;
  return Status::Ok();
}

Status MemoryStorage::Reopen() {
  const MutexLock lock(disk_->mu);
  failed_ = disk_->state.fail_reopen;
  return failed_ ? Status::IOError("the disk is not back") : Status::Ok();
}

std::unique_ptr<Reader> MemoryStorage::Snapshot() const {
  auto copy = std::make_shared<MemoryDisk>();
  {
    const MutexLock lock(disk_->mu);
    const MutexLock copy_lock(copy->mu);
    copy->state.families = disk_->state.families;
  }
  return std::make_unique<MemoryStorage>(std::move(copy));
}

Status MemoryStorage::Close() {
  const MutexLock lock(disk_->mu);
  return failed_ ? WriteFailed() : Status::Ok();
}

}  // namespace wq::storage

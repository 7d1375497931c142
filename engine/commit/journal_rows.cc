// The rows of sources, which a journal reads for its queues and does not lose when it fails.

#include <utility>

#include "base/mutant.h"
#include "engine/commit/journal.h"
#include "storage/records.h"

namespace wq {
namespace {

Status Unreadable(const Status& health) {
  return health.ok() ? Status::NotDurable("the store cannot be read now") : health;
}

}  // namespace

// After a failure the files may lack what was written before it. So the health counts also if there
// was nothing to write: as it is once reads_mu_ keeps a Reopen out.
Status Journal::Rows::Get(storage::Family family, std::string_view key, std::string* value) const {
  static_cast<void>(journal_->WriteOut());
  const std::shared_lock<std::shared_mutex> lock(journal_->reads_mu_);
  const Status health = journal_->Health();
  if (!health.ok()) {
    const MutexLock kept_lock(journal_->mu_);
    if (const auto kept = journal_->kept_.Get(key, value); kept.has_value()) {
      return *kept;
    }
  }
  return journal_->readable_ ? journal_->storage_->Get(family, key, value) : Unreadable(health);
}

Status Journal::Rows::Scan(storage::Family family, std::string_view begin, std::string_view end,
                           const Visitor& visit) const {
  static_cast<void>(journal_->WriteOut());
  const std::shared_lock<std::shared_mutex> lock(journal_->reads_mu_);
  if (Status health = journal_->Health(); !health.ok()) {
    return health;
  }
  return journal_->readable_ ? journal_->storage_->Scan(family, begin, end, visit) : Unreadable({});
}

// What is not synced may be missing in the files: dropped after a failed sync, or with a file
// system that was unmounted. Memory has all other rows, and of these only hashes.
Status Journal::Reopen() {
  const std::unique_lock<std::shared_mutex> lock(reads_mu_);
  if (readable_ && !WQ_MUTANT(forget_unsynced_rows)) {
    // After an error the rest is lost if the files lack it.
    static_cast<void>(storage_->ScanUnsynced(
        storage::Family::kSources, [this](std::string_view key, std::string_view value) {
          unsynced_.insert_or_assign(std::string(key), std::string(value));
          return true;
        }));
  }
  Status status = storage_->Reopen();
  if (status.ok()) {
    status = KeepUnsynced();
  }
  readable_ = status.ok();
  return status;
}

// Those that the files lack. They are older than what is kept.
Status Journal::KeepUnsynced() {
  KeptRows::Rows lost;
  std::string value;
  for (const auto& [key, row] : unsynced_) {
    Status s = storage_->Get(storage::Family::kSources, key, &value);
    if (!s.ok() && s.code() != StatusCode::kNotFound) {
      return s;
    }
    if (!s.ok() || row != value) {
      lost.emplace(key, row);
    }
  }
  unsynced_ = {};
  const MutexLock lock(mu_);
  kept_.KeepOldest(std::move(lost));
  return {};
}

}  // namespace wq

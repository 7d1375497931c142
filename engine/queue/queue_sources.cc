// The sources of a queue: opened, removed, listed.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/names.h"
#include "engine/queue/queue_impl.h"
#include "wq/source.h"

namespace wq {
namespace {

constexpr size_t kRemovedAtOnce = 1000;  // Objects of a removed source.

}  // namespace

Status Queue::OpenSource(std::string_view name, Source* source) {
  if (Status s = CheckName("source", name); !s.ok()) {
    return s;
  }
  if (impl_->journal == nullptr) {
    return Status::InvalidArgument("queue '" + impl_->name + "' is in memory: it has no sources");
  }
  source->queue_ = impl_.get();
  source->name_ = name;
  return impl_->ChangeSources([&](QueueState& state) {
    if (state.FindSource(name) == nullptr && state.sources().size() >= kMaxSources) {
      return TooLong("sources of a queue", kMaxSources + 1, kMaxSources);
    }
    state.OpenSource(name);
    return Status::Ok();
  });
}

// The record without a name is synced first: so a crash leaves nothing that a source could find,
// and whatever the disk loses later, there are never two sources of one name.
Status Queue::RemoveSource(std::string_view name) {
  std::unique_ptr<TrackedSource> removed;  // Many objects: it is freed without the lock.
  Status s = impl_->ChangeSources(
      [&](QueueState& state) {
        removed = state.RemoveSource(name);
        return removed == nullptr ? NoSuch("no source", name) : Status::Ok();
      },
      Durability::kPower);
  return removed == nullptr || !s.ok() ? s : impl_->EraseRowsOf(removed->id);
}

// In pieces, with a wait for each, so that the process log is not filled with them.
Status Queue::Impl::EraseRowsOf(storage::SourceId source) {
  std::vector<std::string> objects;
  Status s;
  do {
    const std::string after = objects.empty() ? "" : objects.back();
    objects.clear();
    s = storage::ScanObjects(Journal::Rows(journal), id, source, after,
                             [&objects](const storage::ObjectRecord& record) {
                               objects.emplace_back(record.object);
                               return objects.size() < kRemovedAtOnce;
                             });
    if (s.ok() && objects.empty()) {  // Rows that came back would be of no source.
      s = journal->Flush(Durability::kPower);
    }
    if (s.ok()) {
      s = ChangeSources([&](QueueState& state) {
        for (const std::string& object : objects) {
          state.EraseRow(source, object);
        }
        if (objects.empty()) {
          state.EraseSource(source);
        }
        return Status::Ok();
      });
    }
  } while (s.ok() && !objects.empty());
  return s;
}

// The files may have lost the erasure.
Status Queue::Impl::AppendErasures(const storage::Reader& reader,
                                   storage::MutationBatch* image) const {
  std::string name;
  const auto visit_source = [&name](const storage::SourceRecord& record) {
    name = record.name;
    return true;
  };
  return storage::ScanSources(reader, id, visit_source, [&](const storage::ObjectRecord& record) {
    const MutexLock lock(mu);
    TrackedSource* const source = state->FindSource(name);
    if (source != nullptr && source->id == record.source &&
        source->Find(ObjectId(record.object)) == nullptr) {
      storage::EraseObject(id, record.source, record.object, image);
    }
    return true;
  });
}

std::vector<SourceInfo> Queue::Sources() const {
  const MutexLock lock(impl_->mu);
  return impl_->ReadSources();
}

std::vector<SourceInfo> Queue::Impl::ReadSources() const {
  std::vector<SourceInfo> infos;
  for (const auto& [name, source] : state->sources()) {
    infos.push_back({.name = name,
                     .objects = source->objects(),
                     .unchanged = source->unchanged,
                     .changed = source->changed,
                     .deleted = source->deleted});
  }
  return infos;
}

}  // namespace wq

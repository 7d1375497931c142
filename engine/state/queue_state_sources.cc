// The part of QueueState that keeps the rows of sources.

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "engine/state/queue_state.h"
#include "storage/row_rules.h"

namespace wq {

TrackedSource* QueueState::FindSource(std::string_view name) const {
  const auto it = sources_.find(name);
  return it == sources_.end() ? nullptr : it->second.get();
}

void QueueState::OpenSource(std::string_view name) noexcept {
  const auto [it, is_new] = sources_.try_emplace(std::string(name));
  if (is_new) {
    it->second = std::make_unique<TrackedSource>(++last_source_);
    PutSource(name, *it->second);
  }
}

std::unique_ptr<TrackedSource> QueueState::RemoveSource(std::string_view name) noexcept {
  const auto it = sources_.find(name);
  if (it == sources_.end()) {
    return nullptr;
  }
  std::unique_ptr<TrackedSource> removed = std::move(it->second);
  sources_.erase(it);
  PutSource({}, *removed);
  return removed;
}

void QueueState::EraseRow(storage::SourceId source, std::string_view object) noexcept {
  if (batch_ != nullptr) {
    storage::EraseObject(id_, source, object, batch_);
  }
}

void QueueState::EraseSource(storage::SourceId id) noexcept {
  std::erase(removed_sources_, id);
  if (batch_ != nullptr) {
    storage::EraseSource(id_, id, batch_);
  }
}

const TrackedSource* QueueState::BeginList(std::string_view name, uint64_t fingerprint,
                                           uint64_t scope) noexcept {
  TrackedSource* const source = FindSource(name);
  if (source == nullptr) {
    return nullptr;
  }
  source->BeginList();
  source->open_list = ++last_list_;
  if (source->fingerprint != fingerprint || source->scope != scope) {
    source->fingerprint = fingerprint;
    source->scope = scope;
    PutSource(name, *source);
  }
  return source;
}

void QueueState::PutSource(std::string_view name, const TrackedSource& source) {
  if (batch_ != nullptr) {
    storage::PutSource(id_, source.Record(name), batch_);
  }
}

void QueueState::PutObject(const TrackedObject& object, const storage::ObjectRecord& record,
                           const ObjectFacts& facts) noexcept {
  object.source->Put(object.id, object.facts, facts);
  ++object.source->changed;
  if (batch_ != nullptr) {
    storage::PutObject(id_, record, batch_);
  }
}

void QueueState::EraseObject(TrackedSource* source, const ObjectId& id,
                             std::string_view object) noexcept {
  source->Erase(id);
  EraseRow(source->id, object);
}

// --- Recovery ---

Status QueueState::RestoreSource(const storage::SourceRecord& record) {
  if (const auto broken = CheckRow(record); broken != storage::RowRule::kNone) {
    return Status::Corruption(DescribeRow("source", record.name, broken));
  }
  last_source_ = std::max(last_source_, record.id);
  if (record.name.empty()) {
    removed_sources_.push_back(record.id);
    return {};
  }
  auto source = std::make_unique<TrackedSource>(record.id);
  source->fingerprint = record.fingerprint;
  source->scope = record.scope;
  restored_source_ = source.get();
  if (!sources_.emplace(record.name, std::move(source)).second) {
    return Status::Corruption(DescribeRow("source", record.name, storage::RowRule::kSourceTwice));
  }
  return {};
}

Status QueueState::RestoreObject(const storage::ObjectRecord& record) {
  storage::RowRule broken = CheckRow(record);
  const bool removed = !removed_sources_.empty() && removed_sources_.back() == record.source;
  if (!removed && (restored_source_ == nullptr || restored_source_->id != record.source)) {
    broken = storage::RowRule::kObjectOfNoSource;
  }
  if (broken != storage::RowRule::kNone) {
    return Status::Corruption(DescribeRow("object", record.object, broken));
  }
  if (removed) {
    return {};
  }
  storage::ObjectRecord as_seen = record;
  if (WQ_MUTANT(fingerprint_of_the_source)) {
    as_seen.fingerprint = restored_source_->fingerprint;
  }
  restored_source_->Restore(ObjectId(record.object), ObjectFacts(as_seen));
  return {};
}

}  // namespace wq

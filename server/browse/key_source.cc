#include "server/browse/key_source.h"

#include <utility>
#include <vector>

#include "wq/entry.h"
#include "wq/queue.h"
#include "wq/store_view.h"

namespace wq {
namespace {

class LiveSource final : public KeySource {
 public:
  explicit LiveSource(const Queue* queue) : queue_(queue) {}

  Status Scan(const KeyVisitor& visit) const override { return queue_->Scan(visit); }
  Status Inspect(std::string_view key,
                 const std::function<void(const KeyInfo&)>& visit) const override {
    return queue_->Inspect(key, visit);
  }

 private:
  const Queue* const queue_;
};

// Adds what the entry says to what other entries of its key have said. The bytes are the entry's.
void Join(const Entry& entry, KeyInfo* info) {
  const bool first = info->key.empty();
  info->key = entry.key;
  switch (entry.state) {
    case EntryState::kPending:
      info->queued = true;
      info->added_at_us = entry.added_at_us;
      break;
    case EntryState::kDelayed:
      info->delayed = true;
      info->ready_at_us = entry.ready_at_us;
      info->delay_us = entry.delay_us;
      info->added_at_us = info->queued ? info->added_at_us : entry.added_at_us;
      break;
    case EntryState::kFailing:
      break;
    case EntryState::kQuarantined:
      info->quarantined = true;
      info->quarantined_at_us = entry.quarantined_at_us;
      break;
  }
  if (entry.state != EntryState::kFailing) {
    info->group = entry.group;
    info->shard = entry.shard;
    // The lane of a queued key is its present one.
    info->lane = first || entry.state != EntryState::kDelayed ? entry.lane : info->lane;
  }
  if (entry.failures.has_value()) {
    info->failures = entry.failures->count;
    info->first_failed_at_us = entry.failures->first_at_us;
    info->last_failed_at_us = entry.failures->last_at_us;
    info->last_error = entry.failures->last_error;
  }
  info->failing = info->failures > 0 && !info->quarantined;
}

class StoredSource final : public KeySource {
 public:
  StoredSource(const StoreView* view, std::string queue) : view_(view), queue_(std::move(queue)) {}

  Status Scan(const KeyVisitor& visit) const override {
    return view_->ForEachEntry(queue_, [&visit](const Entry& entry) {
      KeyInfo info;
      Join(entry, &info);
      return visit(info);
    });
  }
  Status Inspect(std::string_view key,
                 const std::function<void(const KeyInfo&)>& visit) const override {
    std::vector<Entry> entries;
    if (Status s = view_->Find(queue_, key, &entries); !s.ok()) {
      return s;
    }
    KeyInfo info;
    for (const Entry& entry : entries) {
      Join(entry, &info);
    }
    visit(info);
    return {};
  }

 private:
  const StoreView* const view_;
  const std::string queue_;
};

}  // namespace

Status ScanFor(const Caller& caller, const KeySource& keys, const KeyVisitor& visit) {
  size_t visited = 0;
  bool gone = false;
  Status s = keys.Scan([&](const KeyInfo& key) {
    gone = ++visited % kKeysBetweenAsks == 0 && caller.IsGone();
    return !gone && visit(key);
  });
  return s.ok() && gone ? ClientIsGone() : s;
}

std::unique_ptr<KeySource> LiveKeys(const Queue* queue) {
  return std::make_unique<LiveSource>(queue);
}

std::unique_ptr<KeySource> StoredKeys(const StoreView* view, std::string queue) {
  return std::make_unique<StoredSource>(view, std::move(queue));
}

}  // namespace wq

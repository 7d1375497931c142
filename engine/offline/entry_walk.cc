#include "engine/offline/entry_walk.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/offline/entry_records.h"

namespace wq {
namespace {

using storage::DelayedRecord;
using storage::FailureRecord;
using storage::PendingRecord;
using storage::QuarantineRecord;

// Keys with only a failure count are found by erasing the pending and delayed keys from the failing
// ones. How many bytes of failing keys are in memory at a time; more of them cost more scans.
constexpr size_t kFailingChunkBytes = size_t{8} << 20;

}  // namespace

Status EntryWalk::Run(EntryStates states) {
  bool any_failures = false;
  if (Status s = storage::ScanFailures(reader_, queue_,
                                       [&](const FailureRecord&) {
                                         any_failures = true;
                                         return false;
                                       });
      !s.ok()) {
    return s;
  }
  join_failures_ = any_failures;
  const auto wanted = [&](EntryState state) { return !stopped_ && states.Has(state); };
  Status s;
  if (wanted(EntryState::kPending)) s = VisitPending();
  if (s.ok() && wanted(EntryState::kDelayed)) s = VisitDelayed();
  if (s.ok() && any_failures && wanted(EntryState::kFailing)) s = VisitFailingOnly();
  if (s.ok() && wanted(EntryState::kQuarantined)) s = VisitQuarantined();
  return s;
}

Status EntryWalk::VisitQuarantined() {
  entry_ = {};
  return storage::ScanQuarantine(reader_, queue_, [this](const QuarantineRecord& record) {
    entry_.key.assign(record.failures.key);
    Fill(record, &entry_);
    stopped_ = !visit_(entry_);
    return !stopped_;
  });
}

Status EntryWalk::VisitPending() {
  entry_ = {};
  Status s = storage::ScanPending(reader_, queue_, [this](const PendingRecord& record) {
    Fill(record, &entry_);
    return JoinAndVisit(record.key);
  });
  return s.ok() ? join_status_ : s;
}

Status EntryWalk::VisitDelayed() {
  entry_ = {};
  Status s = storage::ScanDelayed(reader_, queue_, [this](const DelayedRecord& record) {
    Fill(record, &entry_);
    return JoinAndVisit(record.key);
  });
  return s.ok() ? join_status_ : s;
}

// Fills in `key` and its failures, and visits entry_. False ends the scan.
bool EntryWalk::JoinAndVisit(std::string_view key) {
  entry_.key.assign(key);
  entry_.failures.reset();
  if (join_failures_) {
    FailureRecord record;
    const Status s = storage::GetFailures(reader_, queue_, key, &value_, &record);
    if (s.ok()) {
      entry_.failures = ToInfo(record);
    } else if (s.code() != StatusCode::kNotFound) {
      join_status_ = s;
      return false;
    }
  }
  stopped_ = !visit_(entry_);
  return !stopped_;
}

Status EntryWalk::VisitFailingOnly() {
  std::unordered_set<std::string> chunk;
  size_t chunk_bytes = 0;
  Status chunk_status;
  Status s = storage::ScanFailures(reader_, queue_, [&](const FailureRecord& record) {
    chunk_bytes += record.key.size() + sizeof(std::string) + 2 * sizeof(void*);
    chunk.emplace(record.key);
    if (chunk_bytes < kFailingChunkBytes) return true;
    chunk_status = VisitChunk(std::move(chunk));
    chunk = {};
    chunk_bytes = 0;
    return chunk_status.ok() && !stopped_;
  });
  if (!s.ok() || !chunk_status.ok() || stopped_) return s.ok() ? chunk_status : s;
  return VisitChunk(std::move(chunk));
}

// Visits the failing keys in `chunk` that are neither pending nor delayed.
Status EntryWalk::VisitChunk(std::unordered_set<std::string> chunk) {
  std::string key;
  const auto erase_known = [&](const auto& record) {
    key.assign(record.key);
    chunk.erase(key);
    return !chunk.empty();
  };
  if (chunk.empty()) return Status::Ok();
  if (Status s = storage::ScanPendingUnordered(reader_, queue_, erase_known); !s.ok()) return s;
  if (chunk.empty()) return Status::Ok();
  if (Status s = storage::ScanDelayed(reader_, queue_, erase_known); !s.ok()) return s;

  std::vector<std::string> keys(std::make_move_iterator(chunk.begin()),
                                std::make_move_iterator(chunk.end()));
  std::sort(keys.begin(), keys.end());
  entry_ = {};
  entry_.state = EntryState::kFailing;
  for (const std::string& failing : keys) {
    if (!JoinAndVisit(failing)) return join_status_;
  }
  return Status::Ok();
}

}  // namespace wq

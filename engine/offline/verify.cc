#include "wq/verify.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/offline/repeats.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/queue_records.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/row.h"
#include "storage/verify_files.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wq {

using storage::Family;
using storage::QueueId;
using storage::Row;

namespace {

constexpr size_t kWhereBytes = 4096;

class Findings {
 public:
  Findings(const VerifyOptions& options, VerifyReport* report)
      : options_(options), report_(report) {}

  void Add(std::string_view where, std::string_view what) {
    if (report_->findings.size() >= options_.max_findings) {
      ++report_->more_findings;
      return;
    }
    report_->findings.push_back({EscapeKey(where, kWhereBytes), EscapeKey(what, kWhereBytes)});
  }
  VerifyReport& report() { return *report_; }

 private:
  const VerifyOptions& options_;
  VerifyReport* const report_;
};

std::string NameOf(Family family) {
  return std::string("family ") + storage::kFamilyNames[static_cast<int>(family)];
}

// How many rows of each kind a queue has.
struct RowCounts {
  uint64_t pending = 0;
  uint64_t delayed = 0;
  uint64_t failing = 0;
  uint64_t quarantined = 0;
};

// So many values that may come more than once are looked at again in one go.
constexpr size_t kSuspectsAtOnce = size_t{1} << 16;

uint64_t HashOf(std::string_view key) { return std::hash<std::string_view>()(key); }

// What no two rows of a queue may have in common.
struct Unique {
  uint64_t (*hash)(const Row& row);
  std::string (*value)(const Row& row);
  const char* what;  // A row is that has what an earlier one has.
};

constexpr Unique kPendingKey = {[](const Row& row) { return HashOf(row.key()); },
                                [](const Row& row) { return std::string(row.key()); },
                                "is pending twice"};
constexpr Unique kDelayedKey = {kPendingKey.hash, kPendingKey.value, "is delayed twice"};
constexpr Unique kSequence = {[](const Row& row) { return row.pending().sequence; },
                              [](const Row& row) { return std::to_string(row.pending().sequence); },
                              "has a sequence that another key has"};

// The rows of one queue, by themselves and against one another. A queue may have more keys than fit
// into memory: only their hashes are kept, and what has the same one is looked at again.
class QueueCheck {
 public:
  QueueCheck(const storage::Reader& reader, QueueId id, const std::string& name,
             uint64_t high_water, Findings* findings)
      : reader_(reader), id_(id), name_(name), high_water_(high_water), findings_(findings) {}

  void Run();
  const RowCounts& counts() const { return counts_; }

 private:
  using Families = std::vector<Family>;

  void CheckRows(const Families& families);
  void FindRepeated(const Families& families, const Unique& unique, Repeats* repeats);
  // Visits the rows that can be decoded; the first time it counts them, and notes the others.
  void Scan(Family family, bool is_first, const std::function<void(const Row&)>& visit);
  void Take(const Row& row);
  void TakePending(const storage::PendingRecord& record);
  bool IsQuarantined(std::string_view key) const;
  void Contradiction(std::string_view key, const std::string& what) {
    findings_->Add("queue " + name_, "key '" + EscapeKey(key) + "' " + what);
  }

  const storage::Reader& reader_;
  const QueueId id_;
  const std::string& name_;
  const uint64_t high_water_;
  Findings* const findings_;
  RowCounts counts_;
  Repeats quarantined_;
  Repeats pending_;
  Repeats sequences_;
  Repeats delayed_;
};

void QueueCheck::Run() {
  // Quarantine first: the others are held against it.
  CheckRows({Family::kQuarantine});
  quarantined_.Sort();
  CheckRows({Family::kDirty, Family::kLanes});
  FindRepeated({Family::kDirty, Family::kLanes}, kPendingKey, &pending_);
  FindRepeated({Family::kDirty, Family::kLanes}, kSequence, &sequences_);
  CheckRows({Family::kDelayed});
  FindRepeated({Family::kDelayed}, kDelayedKey, &delayed_);
  CheckRows({Family::kFailures, Family::kCursors});
}

void QueueCheck::CheckRows(const Families& families) {
  for (const Family family : families) {
    Scan(family, true, [this](const Row& row) { Take(row); });
  }
}

// The memory of the hashes is free when this returns.
void QueueCheck::FindRepeated(const Families& families, const Unique& unique, Repeats* repeats) {
  repeats->Sort();
  const std::vector<uint64_t> suspects = std::move(*repeats).Take();
  *repeats = Repeats();
  for (auto begin = suspects.begin(); begin != suspects.end();) {
    const auto end = begin + std::min<ptrdiff_t>(suspects.end() - begin, kSuspectsAtOnce);
    std::unordered_set<std::string> seen;
    for (const Family family : families) {
      Scan(family, false, [&](const Row& row) {
        if (!std::binary_search(begin, end, unique.hash(row))) return;
        if (!seen.insert(unique.value(row)).second) Contradiction(row.key(), unique.what);
      });
    }
    begin = end;
  }
}

void QueueCheck::Scan(Family family, bool is_first, const std::function<void(const Row&)>& visit) {
  const std::string begin = storage::QueueKeyPrefix(id_);
  Row row;
  const Status status = reader_.Scan(family, begin, storage::PrefixEnd(begin),
                                     [&](std::string_view key, std::string_view value) {
                                       const Status decoded = row.Decode(family, key, value);
                                       if (decoded.ok()) {
                                         visit(row);
                                       } else if (is_first) {
                                         findings_->Add("queue " + name_, decoded.message());
                                       }
                                       if (is_first) ++findings_->report().rows;
                                       return true;
                                     });
  if (!status.ok() && is_first) {
    findings_->Add("queue " + name_ + ", " + NameOf(family), status.message());
  }
}

void QueueCheck::TakePending(const storage::PendingRecord& record) {
  ++counts_.pending;
  pending_.Add(HashOf(record.key));
  sequences_.Add(record.sequence);
  if (record.sequence >= high_water_) {
    Contradiction(record.key, "has a sequence above the queue's high-water mark");
  }
}

bool QueueCheck::IsQuarantined(std::string_view key) const {
  if (!quarantined_.Has(HashOf(key))) return false;
  storage::QuarantineRecord record;
  std::string value;
  return storage::GetQuarantine(reader_, id_, key, &value, &record).ok();
}

void QueueCheck::Take(const Row& row) {
  const std::string_view key = row.key();
  switch (row.kind()) {
    case Row::Kind::kPending:
      TakePending(row.pending());
      break;
    case Row::Kind::kDelayed:
      ++counts_.delayed;
      delayed_.Add(HashOf(key));
      if (IsQuarantined(key)) Contradiction(key, "is delayed and quarantined");
      break;
    case Row::Kind::kFailures:
      ++counts_.failing;
      if (IsQuarantined(key)) Contradiction(key, "is both failing and quarantined");
      break;
    case Row::Kind::kQuarantine:
      ++counts_.quarantined;
      quarantined_.Add(HashOf(key));
      break;
    default:
      break;
  }
}

// All rows of a store.
class RowsCheck {
 public:
  RowsCheck(const storage::Reader& reader, Findings* findings)
      : reader_(reader), findings_(findings) {}

  void Run();
  const std::map<std::string, RowCounts>& counts() const { return counts_; }

 private:
  void ScanDefault();
  void TakeDefault(const Row& row);
  void FindUnknownQueues(Family family);

  const storage::Reader& reader_;
  Findings* const findings_;
  std::map<QueueId, std::string> names_;
  std::map<QueueId, uint64_t> high_waters_;
  std::map<std::string, RowCounts> counts_;
};

void RowsCheck::Run() {
  ScanDefault();
  for (const auto& [id, name] : names_) {
    const auto found = high_waters_.find(id);
    // A new queue has no state yet, and no pending key had a sequence. An import puts it last.
    uint64_t high_water = found == high_waters_.end() ? 0 : found->second;
    if (storage::IsOfImport(name)) high_water = UINT64_MAX;
    QueueCheck queue(reader_, id, name, high_water, findings_);
    queue.Run();
    counts_[name] = queue.counts();
  }
  findings_->report().queues = names_.size();
  for (const auto& [id, high_water] : high_waters_) {
    if (!names_.contains(id)) {
      findings_->Add(NameOf(Family::kDefault),
                     "the state of a queue that there is not, of id " + std::to_string(id));
    }
  }
  for (int family = 1; family < storage::kFamilyCount; ++family) {
    FindUnknownQueues(static_cast<Family>(family));
  }
}

void RowsCheck::ScanDefault() {
  Row row;
  const Status status =
      reader_.Scan(Family::kDefault, "", "", [&](std::string_view key, std::string_view value) {
        ++findings_->report().rows;
        const Status decoded = row.Decode(Family::kDefault, key, value);
        if (decoded.ok()) {
          TakeDefault(row);
        } else {
          findings_->Add(NameOf(Family::kDefault), decoded.message());
        }
        return true;
      });
  if (!status.ok()) findings_->Add(NameOf(Family::kDefault), status.message());
}

void RowsCheck::TakeDefault(const Row& row) {
  if (row.kind() == Row::Kind::kQueue) {
    const auto [other, is_new] = names_.emplace(row.queue(), row.queue_record().name);
    if (!is_new) {
      findings_->Add("queue " + row.queue_record().name, "has the id of queue " + other->second);
    }
  } else if (row.kind() == Row::Kind::kQueueState) {
    high_waters_[row.queue()] = row.queue_state().sequence_high_water;
  }
}

void RowsCheck::FindUnknownQueues(Family family) {
  std::string begin;
  for (;;) {
    std::string first;
    Status status = reader_.Scan(family, begin, "", [&first](std::string_view key, auto) {
      first = key;
      return false;
    });
    if (!status.ok()) return findings_->Add(NameOf(family), status.message());
    if (first.empty()) return;
    const std::string prefix = first.substr(0, storage::kQueuePrefixBytes);
    const bool is_short = prefix.size() < storage::kQueuePrefixBytes;
    if (is_short || !names_.contains(storage::ReadBig32(prefix))) {
      uint64_t rows = 0;
      status = reader_.Scan(family, first, is_short ? first + '\0' : storage::PrefixEnd(prefix),
                            [&rows](auto, auto) { return ++rows != 0; });
      findings_->report().rows += rows;
      findings_->Add(NameOf(family), std::to_string(rows) + " rows of no queue");
    }
    begin = is_short ? first + '\0' : storage::PrefixEnd(prefix);
    if (begin.empty()) return;
  }
}

// Whether a view counts what there is.
void CheckCounters(const std::string& dir, const std::map<std::string, RowCounts>& counts,
                   Findings* findings) {
  std::unique_ptr<StoreView> view;
  Status status = StoreView::Open(dir, &view);
  if (!status.ok()) return findings->Add(dir, status.message());
  for (const auto& [name, counted] : counts) {
    QueueSummary summary;
    status = view->Summarize(name, {}, &summary);
    uint64_t in_lanes = summary.other_lanes;
    for (const auto& [lane, keys] : summary.lanes) in_lanes += keys;
    if (!status.ok()) {
      findings->Add("queue " + name, status.message());
    } else if (summary.pending != counted.pending || in_lanes != counted.pending ||
               summary.delayed != counted.delayed || summary.failing != counted.failing ||
               summary.quarantined != counted.quarantined) {
      findings->Add("queue " + name, "its counters are not what its rows count");
    }
  }
}

}  // namespace

Status Verify(const std::string& dir, const VerifyOptions& options, VerifyReport* report) {
  *report = VerifyReport();
  Findings findings(options, report);
  storage::FilesReport files;
  if (Status s = storage::VerifyFiles(dir, &files); !s.ok()) return s;
  report->owner_alive = storage::ReadOwner(dir).alive;
  report->tables = files.tables;
  report->logs = files.logs;
  for (const Status& finding : files.findings) findings.Add(dir, finding.message());
  std::unique_ptr<storage::Reader> reader;
  Status opened = storage::OpenReader(dir, &reader);
  if (!opened.ok()) {
    // What the files have shown already need not be said again.
    if (opened.code() != StatusCode::kCorruption) return opened;
    if (report->ok()) findings.Add(dir, opened.message());
    return Status::Ok();
  }
  RowsCheck rows(*reader, &findings);
  rows.Run();
  if (report->ok() && !report->owner_alive) CheckCounters(dir, rows.counts(), &findings);
  return Status::Ok();
}

}  // namespace wq

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "base/step_progress.h"
#include "engine/state/sequence_set.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/queue_records.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/row.h"
#include "storage/row_rules.h"
#include "storage/store_directory.h"
#include "storage/verify_files.h"
#include "wq/keys.h"
#include "wq/verify.h"

namespace wq {

using storage::Family;
using storage::QueueId;
using storage::Row;
using storage::RowPlace;
using storage::RowRule;

namespace {

// The keys of rows, of which no two may be the same: as hashes, since there may be more keys than
// fit into memory. Keys of equal hashes may differ: the caller compares those few.
class KeyHashes {
 public:
  void Add(std::string_view key) {
    const uint64_t hash = HashOf(key);
    if (!hashes_.insert(hash).second) repeated_.insert(hash);
  }
  // The key may have been added.
  bool MayHave(std::string_view key) const { return hashes_.contains(HashOf(key)); }
  // It may have been added more than once.
  bool MayRepeat(std::string_view key) const { return repeated_.contains(HashOf(key)); }
  bool any_repeated() const { return !repeated_.empty(); }

 private:
  static uint64_t HashOf(std::string_view key) { return std::hash<std::string_view>()(key); }

  absl::flat_hash_set<uint64_t> hashes_;
  absl::flat_hash_set<uint64_t> repeated_;
};

std::string FamilyName(storage::Family family) {
  return std::string("family ") + storage::kFamilyNames[static_cast<int>(family)];
}

// Collects the findings of a VerifyReport, up to VerifyOptions::max_findings of them.
class Findings {
 public:
  // Both are borrowed.
  Findings(const VerifyOptions& options, VerifyReport* report)
      : options_(options), report_(report) {}

  void Add(std::string_view where, std::string_view what) {
    AddEscaped(where, EscapeKey(what, kMaxBytes));
  }
  // A message of a check of the store's files, which begins with the path of a file.
  void AddFile(const std::string& dir, std::string_view message) {
    std::string inside = storage::WithoutTrailingSlashes(dir) + "/";
    if (!message.starts_with(inside)) return Add(dir, message);
    message.remove_prefix(inside.size());
    const std::string_view file = message.substr(0, message.find_first_of(" ,:"));
    Add(storage::IsStoreFile(file) ? inside.append(file) : dir, message);
  }
  // A rule that a row breaks.
  void AddRow(std::string_view where, std::string_view what, std::string_view name,
              storage::RowRule broken) {
    AddEscaped(where, DescribeRow(what, name, broken));
  }
  VerifyReport& report() { return *report_; }

 private:
  static constexpr size_t kMaxBytes = 4096;

  void AddEscaped(std::string_view where, std::string what) {
    if (report_->findings.size() >= options_.max_findings) {
      ++report_->more_findings;
      return;
    }
    report_->findings.push_back({EscapeKey(where, kMaxBytes), std::move(what)});
  }

  const VerifyOptions& options_;
  VerifyReport* const report_;
};

// The rows of one queue, each by itself and against one another (storage/row_rules.h). The hashes
// of keys are kept, and the rows of equal hashes are read again.
class QueueCheck {
 public:
  QueueCheck(const storage::Reader& reader, QueueId id, const std::string& name,
             uint64_t high_water_mark, Findings* findings, StepProgress* step)
      : reader_(reader),
        id_(id),
        name_(name),
        high_water_mark_(high_water_mark),
        findings_(findings),
        step_(step) {}

  void Run();

 private:
  using Families = std::vector<Family>;

  void CheckRows(const Families& families);
  // Reports the keys that were added twice, which breaks the rule, and frees the hashes.
  void FindRepeated(const Families& families, RowRule rule, KeyHashes* keys);
  // Visits the sound rows. The first scan counts all rows and reports the others.
  void Scan(Family family, bool is_first, const std::function<void(const Row&)>& visit);
  void Take(const Row& row);
  // For CheckBeside: whether the key is in quarantine. False for every other place, since
  // FindRepeated finds second rows of these.
  bool HasRow(RowPlace place, std::string_view key) const;
  void CheckPlace(RowPlace place, std::string_view key);
  void Report(std::string_view key, RowRule broken) {
    if (broken != RowRule::kNone) Report("key", key, broken);
  }
  void Report(std::string_view what, std::string_view name, RowRule broken) {
    findings_->AddRow("queue " + name_, what, name, broken);
  }

  const storage::Reader& reader_;
  const QueueId id_;
  const std::string& name_;
  const uint64_t high_water_mark_;
  Findings* const findings_;
  StepProgress* const step_;
  KeyHashes quarantined_;
  KeyHashes pending_;
  SequenceSet sequences_;  // Of the pending rows.
  KeyHashes delayed_;
  std::set<std::string, std::less<>> sources_;
  std::optional<storage::SourceId> source_;  // Whose objects are read.
};

void QueueCheck::Run() {
  // Quarantine first: the other rows are compared with it.
  CheckRows({Family::kQuarantine});
  CheckRows({Family::kDirty, Family::kLanes});
  FindRepeated({Family::kDirty, Family::kLanes}, RowRule::kPendingTwice, &pending_);
  CheckRows({Family::kDelayed});
  FindRepeated({Family::kDelayed}, RowRule::kDelayedTwice, &delayed_);
  CheckRows({Family::kFailures, Family::kCursors, Family::kSources});
}

void QueueCheck::CheckRows(const Families& families) {
  for (const Family family : families) {
    Scan(family, true, [this](const Row& row) { Take(row); });
  }
}

void QueueCheck::FindRepeated(const Families& families, RowRule rule, KeyHashes* keys) {
  std::unordered_set<std::string> seen;
  for (const Family family : keys->any_repeated() ? families : Families()) {
    Scan(family, false, [&](const Row& row) {
      if (keys->MayRepeat(row.key()) && !seen.emplace(row.key()).second) Report(row.key(), rule);
    });
  }
  *keys = KeyHashes();
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
                                       if (is_first) step_->Add(1);
                                       return true;
                                     });
  if (!status.ok() && is_first) {
    findings_->Add("queue " + name_ + ", " + FamilyName(family), status.message());
  }
}

bool QueueCheck::HasRow(RowPlace place, std::string_view key) const {
  if (place != RowPlace::kQuarantine || !quarantined_.MayHave(key)) return false;
  storage::QuarantineRecord record;
  std::string value;
  return storage::GetQuarantine(reader_, id_, key, &value, &record).ok();
}

void QueueCheck::CheckPlace(RowPlace place, std::string_view key) {
  Report(key, storage::CheckBeside(place, [&](RowPlace other) { return HasRow(other, key); }));
}

void QueueCheck::Take(const Row& row) {
  const std::string_view key = row.key();
  if (const auto* pending = row.As<storage::PendingRecord>()) {
    pending_.Add(key);
    if (!sequences_.Insert(pending->sequence)) Report(key, RowRule::kSequenceTwice);
    Report(key, storage::CheckSequence(pending->sequence, high_water_mark_));
  } else if (row.As<storage::DelayedRecord>()) {
    delayed_.Add(key);
    CheckPlace(RowPlace::kDelayed, key);
  } else if (row.As<storage::FailureRecord>()) {
    CheckPlace(RowPlace::kFailures, key);
  } else if (row.As<storage::QuarantineRecord>()) {
    quarantined_.Add(key);
  } else if (const auto* source = row.As<storage::SourceRecord>()) {
    source_ = source->id;
    if (!source->name.empty() && !sources_.emplace(source->name).second) {
      Report("source", source->name, RowRule::kSourceTwice);
    }
  } else if (const auto* object = row.As<storage::ObjectRecord>()) {  // Behind its source.
    // Of a queue that is being erased, the source's own row goes first.
    if (object->source != source_ && !storage::IsOfImport(name_)) {
      Report("object", object->object, RowRule::kObjectOfNoSource);
    }
  }
}

// All rows of a store.
class RowsCheck {
 public:
  RowsCheck(const storage::Reader& reader, Findings* findings, StepProgress* step)
      : reader_(reader), findings_(findings), step_(step) {}

  void Run();

 private:
  void ScanDefault();
  void TakeDefault(const Row& row);
  void FindUnknownQueues(Family family);
  void AddRowsOfNoQueue(Family family, uint64_t rows);

  const storage::Reader& reader_;
  Findings* const findings_;
  StepProgress* const step_;
  std::map<QueueId, std::string> names_;
  std::map<QueueId, uint64_t> high_waters_;
};

void RowsCheck::Run() {
  ScanDefault();
  for (const auto& [id, name] : names_) {
    const auto found = high_waters_.find(id);
    // A new queue has no state and no sequences. An import puts the state last.
    uint64_t high_water = found == high_waters_.end() ? 0 : found->second;
    if (storage::IsOfImport(name)) high_water = UINT64_MAX;
    QueueCheck(reader_, id, name, high_water, findings_, step_).Run();
  }
  findings_->report().queues = names_.size();
  for (const auto& [id, high_water] : high_waters_) {
    if (!names_.contains(id)) {
      findings_->Add("queue id " + std::to_string(id), TextOf(RowRule::kStateOfNoQueue));
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
          findings_->Add(FamilyName(Family::kDefault), decoded.message());
        }
        return true;
      });
  if (!status.ok()) findings_->Add(FamilyName(Family::kDefault), status.message());
}

void RowsCheck::TakeDefault(const Row& row) {
  if (const auto* queue = row.As<storage::QueueRecord>()) {
    const auto [other, is_new] = names_.emplace(queue->id, queue->name);
    if (!is_new) {
      findings_->Add("queue " + queue->name,
                     std::string(TextOf(RowRule::kQueueIdTwice)) + " " + other->second);
    }
  } else if (const auto* state = row.As<storage::QueueStateRecord>()) {
    high_waters_[row.queue()] = state->sequence_high_water;
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
    if (!status.ok()) return findings_->Add(FamilyName(family), status.message());
    if (first.empty()) return;
    const std::string prefix = first.substr(0, storage::kQueuePrefixBytes);
    const bool is_short = prefix.size() < storage::kQueuePrefixBytes;
    if (is_short || !names_.contains(storage::ReadBig32(prefix))) {
      uint64_t rows = 0;
      status = reader_.Scan(family, first, is_short ? first + '\0' : storage::PrefixEnd(prefix),
                            [&rows](auto, auto) { return ++rows != 0; });
      findings_->report().rows += rows;
      AddRowsOfNoQueue(family, rows);
    }
    begin = is_short ? first + '\0' : storage::PrefixEnd(prefix);
    if (begin.empty()) return;
  }
}

void RowsCheck::AddRowsOfNoQueue(Family family, uint64_t rows) {
  findings_->Add(FamilyName(family),
                 std::to_string(rows) + " " + std::string(TextOf(RowRule::kRowsOfNoQueue)));
}

}  // namespace

Status Verify(const std::string& dir, const VerifyOptions& options, VerifyReport* report) {
  *report = VerifyReport();
  Findings findings(options, report);
  storage::FilesReport files;
  if (Status s = storage::VerifyFiles(dir, options.progress, &files); !s.ok()) return s;
  report->owner_alive = storage::ReadOwner(dir).alive;
  report->tables = files.tables;
  report->logs = files.logs;
  for (const Status& finding : files.findings) findings.AddFile(dir, finding.message());
  std::unique_ptr<storage::Reader> reader;
  Status opened = storage::OpenReader(dir, &reader);
  if (!opened.ok()) {
    // The findings of the files name the damage already.
    if (opened.code() != StatusCode::kCorruption) return opened;
    if (report->ok()) findings.AddFile(dir, storage::WhatIsWrong(dir, opened));
    return Status::Ok();
  }
  StepProgress step(
      options.progress,
      {.step = "checking rows", .unit = Progress::Unit::kRecords, .total = files.records});
  RowsCheck(*reader, &findings, &step).Run();
  step.Finish();
  return Status::Ok();
}

}  // namespace wq

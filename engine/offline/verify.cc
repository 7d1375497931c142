#include "wq/verify.h"

#include <map>
#include <memory>
#include <string>

#include "base/step_progress.h"
#include "engine/offline/findings.h"
#include "engine/offline/verify_queue.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/queue_records.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/row.h"
#include "storage/row_rules.h"
#include "storage/store_directory.h"
#include "storage/verify_files.h"
#include "wq/store_view.h"

namespace wq {

using storage::Family;
using storage::QueueId;
using storage::Row;
using storage::RowRule;

namespace {

// All rows of a store.
class RowsCheck {
 public:
  RowsCheck(const storage::Reader& reader, Findings* findings, StepProgress* step)
      : reader_(reader), findings_(findings), step_(step) {}

  void Run();
  const std::map<std::string, RowCounts>& counts() const { return counts_; }

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
  std::map<std::string, RowCounts> counts_;
};

void RowsCheck::Run() {
  ScanDefault();
  for (const auto& [id, name] : names_) {
    const auto found = high_waters_.find(id);
    // A new queue has no state and no sequences. An import puts the state last.
    uint64_t high_water = found == high_waters_.end() ? 0 : found->second;
    if (storage::IsOfImport(name)) high_water = UINT64_MAX;
    counts_[name] = CheckQueueRows(reader_, id, name, high_water, findings_, step_);
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
  if (row.kind() == Row::Kind::kQueue) {
    const auto [other, is_new] = names_.emplace(row.queue(), row.queue_record().name);
    if (!is_new) {
      findings_->Add("queue " + row.queue_record().name,
                     std::string(TextOf(RowRule::kQueueIdTwice)) + " " + other->second);
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

// Checks that a view counts as many rows.
void CheckCounters(const std::string& dir, const std::map<std::string, RowCounts>& counts,
                   const VerifyOptions& options, Findings* findings) {
  std::unique_ptr<StoreView> view;
  Status status = StoreView::Open(dir, &view);
  if (!status.ok()) return findings->AddFile(dir, storage::WhatIsWrong(dir, status));
  StepProgress step(options.progress, {.step = "checking counts",
                                       .unit = Progress::Unit::kRecords,
                                       .total = findings->report().rows});
  for (const auto& [name, counted] : counts) {
    QueueSummary summary;
    status = view->Summarize(name, {}, &summary);
    uint64_t in_lanes = summary.other_lanes;
    for (const auto& [lane, keys] : summary.lanes) in_lanes += keys;
    if (!status.ok()) {
      findings->Add("queue " + name, storage::WhatIsWrong(dir, status));
    } else if (summary.pending != counted.pending || in_lanes != counted.pending ||
               summary.delayed != counted.delayed || summary.failing != counted.failing ||
               summary.quarantined != counted.quarantined) {
      findings->Add("queue " + name, "its counters are not what its rows count");
    }
    step.Add(counted.pending + counted.delayed + counted.failing + counted.quarantined);
  }
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
  RowsCheck rows(*reader, &findings, &step);
  rows.Run();
  step.Finish();
  if (report->ok() && !report->owner_alive) CheckCounters(dir, rows.counts(), options, &findings);
  return Status::Ok();
}

}  // namespace wq

#include "storage/verify_files.h"

#include <string>
#include <vector>

#include "base/files.h"
#include "base/step_progress.h"
#include "storage/check/closed_database.h"
#include "storage/check/manifest.h"
#include "storage/check/open_check.h"
#include "storage/check/table_check.h"
#include "storage/check/wal_check.h"
#include "storage/database/own_directory.h"
#include "storage/directory/steady_view.h"
#include "storage/process_log/read_process_log.h"
#include "storage/store_directory.h"

namespace wq::storage {
namespace {

// One pass over the files of a store.
class FilesCheck {
 public:
  FilesCheck(const std::string& dir, const ProgressCallback& progress, FilesReport* report)
      : dir_(dir), progress_(progress), report_(report) {}

  Status Run();

 private:
  // Adds Corruption to the findings; any other error ends the check.
  void Note(const Status& status) {
    if (status.ok()) return;
    if (status.code() == StatusCode::kCorruption) {
      report_->findings.push_back(status);
    } else if (error_.ok()) {
      error_ = status;
    }
  }
  void CheckNames();
  uint64_t BytesToCheck(const Manifest& manifest) const;
  uint64_t BytesOf(const WalFile& wal) const { return FileBytes(dir_ + "/" + wal.name); }
  void CheckEachTable(const Manifest& manifest, StepProgress* step);
  void CheckEachLog(const Manifest& manifest, StepProgress* step);
  void CheckProcessLog(const Manifest& manifest, const Format& format);

  const std::string& dir_;
  const ProgressCallback& progress_;
  FilesReport* const report_;
  Status error_;
  FoundProcessLogs process_logs_;
};

Status FilesCheck::Run() {
  *report_ = FilesReport();
  DirectoryInfo found;
  const Status inspected = InspectDirectory(dir_, &found);
  Note(inspected);
  if (!error_.ok()) return error_;
  if (inspected.ok() && found.state != DirectoryState::kStore) {
    if (found.state == DirectoryState::kUnfinished && !found.is_being_made) {
      Note(CheckUnfinished(dir_, found));
    }
    return report_->findings.empty() && error_.ok() ? NotAStore(dir_, found) : error_;
  }
  CheckNames();
  Note(process_logs_.Read(dir_));  // Before the database is read: see read_process_log.h.
  if (found.is_snapshot) {
    int64_t taken_at_us = 0;
    Note(ReadSnapshotTime(dir_, &taken_at_us));
  }
  Manifest manifest;
  const Status read = ReadManifest(dir_, &manifest);
  Note(read);
  if (!read.ok()) return error_;
  Note(CheckFamilies(dir_, manifest));
  StepProgress step(progress_, {.step = "checking files", .total = BytesToCheck(manifest)});
  CheckEachTable(manifest, &step);
  CheckEachLog(manifest, &step);
  step.Finish();
  if (error_.ok() && report_->findings.empty()) {
    StoreRecord record;
    const Status read_record = FindStoreRecord(dir_, manifest, &record);
    Note(CheckStoreRecord(dir_, read_record, record, found.format));
  }
  if (error_.ok() && report_->findings.empty()) CheckProcessLog(manifest, found.format);
  // After other findings it would only repeat them.
  if (error_.ok() && report_->findings.empty()) Note(CheckOpens(dir_, manifest));
  return error_;
}

void FilesCheck::CheckNames() {
  std::vector<std::string> names;
  Note(ListDirectory(dir_, &names));
  for (const std::string& name : names) {
    if (!IsStoreFile(name)) {
      Note(Status::Corruption(dir_ + "/" + name + " is not a file of a store"));
    }
  }
}

uint64_t FilesCheck::BytesToCheck(const Manifest& manifest) const {
  uint64_t total = 0;
  for (const auto& [id, family] : manifest.families) {
    for (const auto& [number, bytes] : family.tables) total += bytes;
  }
  std::vector<WalFile> wals;
  if (!ListWals(dir_, manifest.FirstLog(), &wals).ok()) return total;  // CheckEachLog reports it.
  for (const WalFile& wal : wals) total += BytesOf(wal);
  return total;
}

void FilesCheck::CheckEachTable(const Manifest& manifest, StepProgress* step) {
  for (const auto& [id, family] : manifest.families) {
    for (const auto& [number, bytes] : family.tables) {
      Manifest one;
      one.path = manifest.path;
      one.families[id].tables[number] = bytes;
      Status status = CheckTableEnds(dir_, one);
      if (status.ok()) status = CheckTables(dir_, one, &report_->records);
      Note(status);
      ++report_->tables;
      step->Add(bytes);
    }
  }
}

void FilesCheck::CheckEachLog(const Manifest& manifest, StepProgress* step) {
  std::vector<WalFile> wals;
  Note(ListWals(dir_, manifest.FirstLog(), &wals));
  bool all_good = true;
  for (const WalFile& wal : wals) {
    WalSummary summary;
    const Status status = CheckWal(dir_ + "/" + wal.name, &summary);
    if (status.code() == StatusCode::kNotFound) continue;
    Note(status);
    all_good &= status.ok();
    ++report_->logs;
    if (summary.first_sequence) report_->records += summary.next_sequence - *summary.first_sequence;
    step->Add(BytesOf(wal));
  }
  if (all_good) Note(CheckWals(dir_, manifest, nullptr));
}

// A log that is not in use any more is not a finding: the next opening removes it.
void FilesCheck::CheckProcessLog(const Manifest& manifest, const Format& format) {
  ProcessLogRecord record;
  const Status status = FindProcessLog(dir_, manifest, &record);
  MutationBatch unwritten;
  Note(status.ok() ? AppendUnwritten(dir_, manifest, process_logs_, record, format.uuid, &unwritten)
                   : status);
}

}  // namespace

Status VerifyFiles(const std::string& given_dir, const ProgressCallback& progress,
                   FilesReport* report) {
  const std::string dir = WithoutTrailingSlashes(given_dir);
  constexpr int kMaxAttempts = 20;
  return ReadSteadily(
      dir, [&] { return FilesCheck(dir, progress, report).Run(); },
      [report](const Status& checked, const FilesState& before, const FilesState& after) {
        return (checked.ok() && report->findings.empty()) || after == before;
      },
      kMaxAttempts);
}

}  // namespace wq::storage

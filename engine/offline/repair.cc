#include "wq/repair.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/step_progress.h"
#include "base/unfinished_directory.h"
#include "engine/offline/settlement.h"
#include "storage/mutation_batch.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/salvage.h"
#include "storage/store_directory.h"
#include "wq/clock.h"
#include "wq/keys.h"

namespace wq {

namespace {

// Behind the name of the new store until it is complete.
constexpr const char* kRepairing = ".repairing";

Status WriteStore(const std::string& dir, const storage::SalvagedRecords& records,
                  const RepairOptions& options) {
  std::unique_ptr<storage::Storage> store;
  Status status = storage::OpenStorage(dir,
                                       {.create_if_missing = true,
                                        .error_if_exists = true,
                                        .now_us = Clock::System()->WallUs(),
                                        .being_made = true},
                                       &store);
  constexpr size_t kBatchBytes = size_t{1} << 20;
  storage::MutationBatch batch;
  StepProgress step(options.progress, {.step = "writing records",
                                       .unit = Progress::Unit::kRecords,
                                       .total = records.values.size()});
  for (const auto& [place, value] : records.values) {
    if (!status.ok()) return status;
    batch.Put(place.first, place.second, value);
    step.Add(1);
    if (batch.bytes() < kBatchBytes) continue;
    if (options.cancelled != nullptr && options.cancelled()) {
      return Status::IOError("the writing of " + dir + " was cancelled");
    }
    status = store->Write(batch, /*sync=*/false);
    batch.Clear();
  }
  if (status.ok() && !batch.empty()) status = store->Write(batch, /*sync=*/false);
  step.Finish();
  return status.ok() ? store->Close() : status;
}

// Ok if `dir` may be a store without a living owner, and `into` does not exist.
Status CheckDirectories(const std::string& dir, const std::string& into,
                        storage::DirectoryInfo* found) {
  Status status = storage::InspectDirectory(dir, found);
  if (!status.ok() && status.code() != StatusCode::kCorruption) return status;
  if (found->is_being_made) return storage::NotAStore(dir, *found);
  const bool may_be = found->state == storage::DirectoryState::kStore ||
                      found->state == storage::DirectoryState::kUnfinished || found->only_database;
  if (status.ok() && !may_be) return storage::NotAStore(dir, *found);
  struct stat info = {};
  if (lstat(into.c_str(), &info) == 0)
    return Status::AlreadyExists("there is " + into + " already");
  if (Status s = storage::CheckOutsideStores(into); !s.ok()) return s;
  if (!storage::ReadOwner(dir).alive) return Status::Ok();
  return Status::Locked(dir + " is owned by " + storage::DescribeOwner(dir) + "; stop it before");
}

// REQUIRES: neither has a slash at its end.
Status RepairInto(const std::string& dir, const std::string& into, const RepairOptions& options,
                  RepairReport* report) {
  storage::DirectoryInfo found;
  Status status = CheckDirectories(dir, into, &found);
  if (!status.ok()) return status;
  // In the directory of `into`: the rename at the end is within one file system.
  std::unique_ptr<UnfinishedDirectory> made;
  status = UnfinishedDirectory::Make(into + kRepairing, &made);
  if (!status.ok()) return status;
  const std::string scratch = made->path() + "/scratch";
  storage::SalvagedRecords records;
  status = storage::Salvage(dir, scratch, options.progress, options.cancelled, &records);
  std::error_code error;
  std::filesystem::remove_all(scratch, error);
  if (!status.ok()) return status;
  if (error) return IOErrorOf("cannot remove", scratch, error.value());
  // Without FORMAT and OWNER only its own record shows that it is a store.
  if (found.only_database && !records.has_store_record) {
    return Status::NotFound(dir + " is the database of another program: it has no FORMAT, and no " +
                            "record that a store has");
  }
  for (const auto& [where, what] : records.losses) {
    report->losses.push_back({EscapeKey(where, 4096), EscapeKey(what, 4096)});
  }
  const StepProgress comparing(options.progress,
                               {.step = "comparing records", .unit = Progress::Unit::kNone});
  Settle(&records, report);
  status = WriteStore(made->path(), records, options);
  return status.ok() ? made->RenameTo(into) : status;
}

}  // namespace

Status Repair(const std::string& dir, const std::string& into, const RepairOptions& options,
              RepairReport* report) {
  *report = RepairReport();
  return RepairInto(storage::WithoutTrailingSlashes(dir), storage::WithoutTrailingSlashes(into),
                    options, report);
}

Status Repair(const std::string& dir, const std::string& into, RepairReport* report) {
  return Repair(dir, into, {}, report);
}

}  // namespace wq

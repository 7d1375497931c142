#include "wq/repair.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/unfinished_directory.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/queue_records.h"
#include "storage/records.h"
#include "storage/row.h"
#include "storage/salvage.h"
#include "storage/store_directory.h"
#include "wq/keys.h"

namespace wq {

using storage::Family;
using storage::MutationBatch;
using storage::QueueId;
using storage::Row;

namespace {

int64_t NowUs() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// Brings salvaged records to where they do not contradict one another. A record that was to be gone,
// or to be another one, may have come back: of two the younger one counts.
class Settlement {
 public:
  Settlement(storage::SalvagedRecords* records, RepairReport* report)
      : records_(records), report_(report) {}

  void Run();

 private:
  using Place = std::pair<Family, std::string>;
  struct Queue {
    std::string name;
    uint64_t high_water = 0;
    uint64_t next_sequence = 0;  // Above all that are in use.
    std::set<std::string, std::less<>> quarantined;
    std::map<std::string, std::pair<uint64_t, Place>> pending;  // By key: sequence and place.
    std::map<std::string, std::pair<int64_t, Place>> delayed;   // By key: ready_at and place.
    std::set<uint64_t> sequences;
  };

  void Lose(std::string_view where, std::string_view what) {
    report_->losses.push_back({EscapeKey(where, 4096), EscapeKey(what, 4096)});
  }
  void LoseOf(QueueId queue, std::string_view key, const std::string& what) {
    Lose("queue " + queues_[queue].name, "key '" + EscapeKey(key) + "' " + what);
  }
  // Goes over the records of a family; drops those for which `keep` is false.
  template <typename Keep>
  void ForEach(Family family, const Keep& keep);
  void SettleQueues();
  bool KeepDefault(const Row& row);
  bool KeepPending(const Row& row, const Place& place);
  bool KeepDelayed(const Row& row, const Place& place);
  bool KeepFailures(const Row& row);
  void PutStates();
  void Put(const MutationBatch& batch);
  Queue& QueueOf(QueueId id);

  storage::SalvagedRecords* const records_;
  RepairReport* const report_;
  std::map<QueueId, Queue> queues_;
  std::set<QueueId> of_imports_;
  std::set<Place> replaced_;  // Records that a younger one has taken the place of.
};

template <typename Keep>
void Settlement::ForEach(Family family, const Keep& keep) {
  Row row;
  auto record = records_->values.lower_bound({family, ""});
  while (record != records_->values.end() && record->first.first == family) {
    const Status decoded = row.Decode(family, record->first.second, record->second);
    if (!decoded.ok()) Lose("a record", decoded.message());
    const bool kept =
        decoded.ok() && !of_imports_.contains(row.queue()) && keep(row, record->first);
    record = kept ? std::next(record) : records_->values.erase(record);
  }
}

Settlement::Queue& Settlement::QueueOf(QueueId id) {
  Queue& queue = queues_[id];
  if (queue.name.empty()) {
    queue.name = "recovered-" + std::to_string(id);
    Lose("queue " + queue.name, "its own record, and so its name");
    MutationBatch batch;
    PutQueue({queue.name, id, NowUs()}, &batch);
    Put(batch);
  }
  return queue;
}

void Settlement::Put(const MutationBatch& batch) {
  batch.ForEach([this](const storage::Mutation& put) {
    records_->values[{put.family, std::string(put.key)}] = put.value;
  });
}

bool Settlement::KeepDefault(const Row& row) {
  if (row.kind() == Row::Kind::kQueue) {
    // What a killed import has left is nobody's.
    if (storage::IsOfImport(row.queue_record().name)) {
      of_imports_.insert(row.queue());
      return false;
    }
    Queue& queue = queues_[row.queue()];
    if (!queue.name.empty()) {
      Lose("queue " + row.queue_record().name, "it has the id of queue " + queue.name);
      return false;
    }
    queue.name = row.queue_record().name;
  } else if (row.kind() == Row::Kind::kQueueState) {
    queues_[row.queue()].high_water = row.queue_state().sequence_high_water;
  } else {
    return false;  // The new store has a record of its own.
  }
  return true;
}

bool Settlement::KeepPending(const Row& row, const Place& place) {
  Queue& queue = QueueOf(row.queue());
  const uint64_t sequence = row.pending().sequence;
  queue.next_sequence = std::max(queue.next_sequence, sequence + 1);
  const auto [other, is_new] = queue.pending.emplace(row.pending().key, std::pair(sequence, place));
  if (is_new) return true;
  LoseOf(row.queue(), row.pending().key, "was pending twice: its older place");
  if (other->second.first > sequence) return false;
  replaced_.insert(other->second.second);
  other->second = {sequence, place};
  return true;
}

// The earliest delay wins, as ever.
bool Settlement::KeepDelayed(const Row& row, const Place& place) {
  Queue& queue = QueueOf(row.queue());
  if (queue.quarantined.contains(row.key())) {
    LoseOf(row.queue(), row.key(), "is in quarantine: its delay");
    return false;
  }
  const int64_t ready_at = row.delayed().ready_at_us;
  const auto [other, is_new] = queue.delayed.emplace(row.key(), std::pair(ready_at, place));
  if (is_new) return true;
  // They come by ready time.
  LoseOf(row.queue(), row.key(), "was delayed twice: the later delay");
  return false;
}

bool Settlement::KeepFailures(const Row& row) {
  if (!QueueOf(row.queue()).quarantined.contains(row.key())) return true;
  LoseOf(row.queue(), row.key(), "is in quarantine: its older failures");
  return false;
}

void Settlement::SettleQueues() {
  ForEach(Family::kQuarantine, [this](const Row& row, const Place&) {
    QueueOf(row.queue()).quarantined.emplace(row.key());
    return true;
  });
  const auto pending = [this](const Row& row, const Place& p) { return KeepPending(row, p); };
  ForEach(Family::kDirty, pending);
  ForEach(Family::kLanes, pending);
  ForEach(Family::kDelayed, [this](const Row& row, const Place& p) { return KeepDelayed(row, p); });
  ForEach(Family::kFailures, [this](const Row& row, const Place&) { return KeepFailures(row); });
  ForEach(Family::kCursors, [this](const Row& row, const Place&) {
    QueueOf(row.queue());
    return true;
  });
  for (const Place& place : replaced_) records_->values.erase(place);
}

// No sequence of a queue is given out twice, and none is above its mark.
void Settlement::PutStates() {
  for (auto& [id, queue] : queues_) {
    QueueOf(id);
    if (queue.high_water >= queue.next_sequence) continue;
    Lose("queue " + queue.name,
         "its state as it was last: shards, a pause and the limiter's state");
    MutationBatch batch;
    PutQueueState(id, {.sequence_high_water = queue.next_sequence}, &batch);
    Put(batch);
  }
}

void Settlement::Run() {
  ForEach(Family::kDefault, [this](const Row& row, const Place&) { return KeepDefault(row); });
  SettleQueues();
  PutStates();
  report_->queues = queues_.size();
  report_->records = records_->values.size();
}

Status WriteStore(const std::string& dir, const storage::SalvagedRecords& records) {
  std::unique_ptr<storage::Storage> store;
  Status status = storage::OpenStorage(
      dir, {.create_if_missing = true, .error_if_exists = true, .now_us = NowUs()}, &store);
  constexpr size_t kBatchBytes = size_t{1} << 20;
  MutationBatch batch;
  for (const auto& [place, value] : records.values) {
    if (!status.ok()) return status;
    batch.Put(place.first, place.second, value);
    if (batch.bytes() < kBatchBytes) continue;
    status = store->Write(batch, /*sync=*/false);
    batch.Clear();
  }
  if (status.ok() && !batch.empty()) status = store->Write(batch, /*sync=*/false);
  return status.ok() ? store->Close() : status;
}

// Whether there is something to repair at `dir`, and nothing at `into`.
Status CheckPlaces(const std::string& dir, const std::string& into) {
  storage::DirectoryInfo look;
  Status status = storage::InspectDirectory(dir, &look);
  if (!status.ok() && status.code() != StatusCode::kCorruption) return status;
  const bool may_be = look.state == storage::DirectoryState::kStore ||
                      look.state == storage::DirectoryState::kUnfinished;
  if (status.ok() && !may_be) return storage::NotAStore(dir, look);
  struct stat info = {};
  if (lstat(into.c_str(), &info) == 0)
    return Status::AlreadyExists("there is " + into + " already");
  const storage::OwnerInfo owner = storage::ReadOwner(dir);
  if (!owner.alive) return Status::Ok();
  return Status::Locked(dir + " is owned by process " + std::to_string(owner.pid) +
                        "; stop it before");
}

// REQUIRES: neither has a slash at its end.
Status RepairInto(const std::string& dir, const std::string& into, RepairReport* report) {
  Status status = CheckPlaces(dir, into);
  if (!status.ok()) return status;
  // Beside its place: the rename at the end is within one file system.
  const std::string beside = into + ".repair-" + std::to_string(getpid());
  const std::string scratch = beside + ".scratch";
  storage::SalvagedRecords records;
  status = storage::Salvage(dir, scratch, &records);
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  if (!status.ok()) return status;
  for (const auto& [where, what] : records.losses) {
    report->losses.push_back({EscapeKey(where, 4096), EscapeKey(what, 4096)});
  }
  Settlement(&records, report).Run();
  std::unique_ptr<UnfinishedDirectory> made;
  status = UnfinishedDirectory::Make(beside, &made);
  if (status.ok()) status = WriteStore(made->path(), records);
  return status.ok() ? made->RenameTo(into) : status;
}

}  // namespace

Status Repair(const std::string& dir, const std::string& into, RepairReport* report) {
  *report = RepairReport();
  return RepairInto(storage::WithoutTrailingSlashes(dir), storage::WithoutTrailingSlashes(into),
                    report);
}

}  // namespace wq

#include "storage/check/wal_check.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/little_endian.h"

namespace wq::storage {
namespace {

bool Has(const std::vector<WalFile>& wals, uint64_t number) {
  return std::any_of(wals.begin(), wals.end(),
                     [number](const WalFile& wal) { return wal.number == number; });
}

// Whether the first log that is needed exists. `wals`: the needed logs, oldest first.
Status CheckFirstLog(const std::string& dir, const Manifest& manifest,
                     const std::vector<WalFile>& wals) {
  const uint64_t first = manifest.FirstLog();
  if (Has(wals, first)) return Status::Ok();
  // Opening a store writes all logs to tables, makes a new log, and then the manifest: their
  // numbers are consecutive. As first log that is needed, the manifest then names the number after
  // the old logs, which no file has.
  const uint64_t made_with = manifest.number - 1;
  switch (manifest.first_log_from) {
    case Manifest::FirstLogFrom::kAgreement:
      if (Has(wals, made_with)) return Status::Ok();
      break;
    case Manifest::FirstLogFrom::kInitialState:
      // A new store; or a manifest that grew too long and was rewritten while the store was open.
      if (first == 0 && Has(wals, made_with)) return Status::Ok();
      if (!wals.empty() && wals.front().number < made_with) return Status::Ok();
      break;
    case Manifest::FirstLogFrom::kChange:
      break;
  }
  const bool is_new =
      first == 0 ||
      (manifest.first_log_from == Manifest::FirstLogFrom::kAgreement && first < manifest.number);
  return Status::Corruption(dir + "/" + LogName(is_new ? made_with : first) +
                            " is missing, which " + manifest.Name() +
                            " needs first; or that manifest is cut off");
}

// A log behind number `after` and before `before` that the manifest names and no file is. The first
// log that is needed may never have been a file: see CheckFirstLog.
std::optional<uint64_t> FindMissing(const Manifest& manifest, const std::vector<WalFile>& wals,
                                    uint64_t after, uint64_t before) {
  for (const uint64_t number : manifest.logs) {
    if (number > after && number < before && number != manifest.FirstLog() && !Has(wals, number)) {
      return number;
    }
  }
  return std::nullopt;
}

// Checks that the needed logs continue one another, and reach as far as the tables do.
class WalChain {
 public:
  WalChain(const std::string& dir, const Manifest& manifest, const std::vector<WalFile>& wals)
      : dir_(dir), manifest_(manifest), wals_(wals) {}

  // The next log.
  Status Add(const WalFile& wal, const WalSummary& summary);
  Status End() const;

 private:
  // Whether a family has all of this log in its tables, and so needs later logs only.
  bool IsAnyAhead(const WalFile& wal) const {
    return std::any_of(
        manifest_.families.begin(), manifest_.families.end(),
        [&wal](const auto& family) { return *family.second.log_number > wal.number; });
  }
  // Records are missing before `to`, which is the log of number `before`, or the tables. `empty`:
  // the log without records before it; otherwise the last log with records.
  Status Missing(const std::optional<WalFile>& empty, const std::string& to, uint64_t before) const;

  const std::string& dir_;
  const Manifest& manifest_;
  const std::vector<WalFile>& wals_;
  uint64_t first_number_ = 0;
  std::optional<WalFile> empty_;  // A log without records.
  std::optional<WalFile> last_;   // The last log with records.
  uint64_t next_sequence_ = 0;
};

Status WalChain::Missing(const std::optional<WalFile>& empty, const std::string& to,
                         uint64_t before) const {
  const std::optional<WalFile>& from = empty ? empty : last_;
  const uint64_t after = from ? from->number : 0;
  const std::string from_name = from ? from->name : manifest_.Name();
  if (const std::optional<uint64_t> lost = FindMissing(manifest_, wals_, after, before)) {
    return Status::Corruption(dir_ + "/" + LogName(*lost) +
                              " is missing, and so are records between " + from_name + " and " +
                              to);
  }
  return Status::Corruption(dir_ + "/" + from_name + (empty ? " is empty, and" : ":") +
                            " records are missing between it and " + to);
}

Status WalChain::Add(const WalFile& wal, const WalSummary& summary) {
  if (!last_ && !empty_) first_number_ = wal.number;
  if (!summary.first_sequence) {
    if (!empty_) empty_ = wal;
    return Status::Ok();
  }
  // RocksDB does not begin a log while the one before is empty.
  if (empty_) return Missing(empty_, wal.name, wal.number);
  const uint64_t behind_tables = manifest_.last_sequence + 1;
  // While no family has tables with records of these logs, the logs begin where the tables end.
  const bool fits = last_             ? *summary.first_sequence == next_sequence_
                    : IsAnyAhead(wal) ? *summary.first_sequence <= behind_tables
                                      : *summary.first_sequence == behind_tables;
  if (!fits) return Missing(std::nullopt, wal.name, wal.number);
  last_ = wal;
  next_sequence_ = summary.next_sequence;
  return Status::Ok();
}

Status WalChain::End() const {
  if (!last_) {
    if (empty_ && IsAnyAhead({first_number_, {}})) return Missing(empty_, "the tables", UINT64_MAX);
  } else if (next_sequence_ <= manifest_.last_sequence) {
    // A log is synced before its records are written to a table.
    return Missing(std::nullopt, "the tables", UINT64_MAX);
  }
  return Status::Ok();
}

}  // namespace

LogUse WalUse(WalSummary* summary, std::function<Status(std::string_view batch)> take) {
  LogUse use;
  use.zeros_are_torn = true;
  use.plausible = [summary](std::string_view fragment) {
    return fragment.size() >= kBatchHeaderBytes &&
           LittleEndianAt<uint64_t>(fragment, 0) >= summary->next_sequence;
  };
  use.take = [summary, take = std::move(take)](std::string_view batch) {
    if (batch.size() < kBatchHeaderBytes) {
      return Status::Corruption("a record too short for a batch");
    }
    const uint64_t sequence = LittleEndianAt<uint64_t>(batch, 0);
    Status status = take ? take(batch) : Status::Ok();
    if (!status.ok()) return status;
    if (!summary->first_sequence) summary->first_sequence = sequence;
    summary->next_sequence = sequence + LittleEndianAt<uint32_t>(batch, 8);
    return status;
  };
  return use;
}

Status ListWals(const std::string& dir, uint64_t first, std::vector<WalFile>* wals) {
  Status status = ListNumbered(dir, "", ".log", wals);
  std::erase_if(*wals, [first](const WalFile& wal) { return wal.number < first; });
  return status;
}

Status CheckWal(const std::string& path, WalSummary* summary) {
  *summary = WalSummary();
  const LogUse use = WalUse(summary, [summary](std::string_view batch) {
    if (summary->first_sequence && LittleEndianAt<uint64_t>(batch, 0) != summary->next_sequence) {
      return Status::Corruption("its sequence does not follow the one before");
    }
    return Status::Ok();
  });
  return ScanLog(path, use, summary);
}

Status CheckWals(const std::string& dir, const Manifest& manifest, ValidLengths* valid_lengths) {
  std::vector<WalFile> wals;
  Status status = ListWals(dir, manifest.FirstLog(), &wals);
  if (!status.ok()) return status;
  status = CheckFirstLog(dir, manifest, wals);
  WalChain chain(dir, manifest, wals);
  for (const WalFile& wal : wals) {
    if (!status.ok()) return status;
    WalSummary summary;
    status = CheckWal(dir + "/" + wal.name, &summary);
    // A running owner has removed it: its records are in tables.
    if (status.code() == StatusCode::kNotFound) {
      status = Status::Ok();
      continue;
    }
    if (status.ok()) status = chain.Add(wal, summary);
    if (summary.zeroed && valid_lengths != nullptr)
      valid_lengths->emplace(wal.name, summary.valid_bytes);
  }
  return status.ok() ? chain.End() : status;
}

std::string DescribeLostEnd(const std::string& dir, const Manifest& manifest) {
  std::vector<WalFile> wals;
  if (!ListWals(dir, 0, &wals).ok() || wals.empty())
    return dir + ": every write-ahead log is missing";
  const WalFile& newest = wals.back();
  if (const std::optional<uint64_t> lost =
          FindMissing(manifest, wals, newest.number, /*before=*/UINT64_MAX)) {
    return dir + "/" + LogName(*lost) + " is missing";
  }
  return dir + "/" + newest.name + " is cut off, or a later log is missing";
}

}  // namespace wq::storage

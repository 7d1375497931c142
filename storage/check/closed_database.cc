#include "storage/check/closed_database.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/little_endian.h"
#include "storage/check/wal_check.h"
#include "storage/record_keys.h"
#include "storage/rocksdb/setup.h"
#include "storage/row.h"

namespace wq::storage {
namespace {

// Called with each version of a record of the default family, and the file that has it.
using VisitValue = std::function<void(std::string_view value, const std::string& path)>;

// The error of decoding a record, with the file that has it.
Status In(const std::string& path, const Status& status) {
  return status.ok() || path.empty() ? status
                                     : Status(status.code(), path + ": " + status.message());
}

Status VisitInTables(const std::string& dir, const Manifest& manifest, std::string_view key,
                     const VisitValue& visit) {
  const auto found = manifest.families.find(static_cast<uint32_t>(Family::kDefault));
  if (found == manifest.families.end()) return Status::Ok();
  rocksdb::Options options;
  options.info_log = SilentLogger();
  for (const auto& [number, bytes] : found->second.tables) {
    const std::string path = dir + "/" + TableName(number);
    rocksdb::SstFileReader reader(options);
    rocksdb::Status status = reader.Open(path);
    if (!status.ok()) return FromRocksdbOpen(status, path);
    const std::unique_ptr<rocksdb::Iterator> it(reader.NewIterator(rocksdb::ReadOptions()));
    it->Seek(ToSlice(key));
    if (it->Valid() && it->key() == ToSlice(key)) visit(it->value().ToStringView(), path);
    if (!it->status().ok()) return FromRocksdb(it->status(), path);
  }
  return Status::Ok();
}

// Only the versions in the newest log that has one.
Status VisitInLogs(const std::string& dir, const Manifest& manifest, std::string_view key,
                   const VisitValue& visit) {
  std::vector<WalFile> wals;
  Status status = ListWals(dir, manifest.FirstLog(), &wals);
  bool found = false;
  for (auto wal = wals.rbegin(); wal != wals.rend() && status.ok() && !found; ++wal) {
    WalSummary summary;
    const std::string path = dir + "/" + wal->name;
    const auto take = [&](std::string_view batch) {
      return ForEachChange(batch, [&](const Mutation& change, uint64_t /*sequence*/) {
        if (change.family == Family::kDefault && change.is_put && change.key == key) {
          found = true;
          visit(change.value, path);
        }
      });
    };
    status = ScanLog(path, WalUse(&summary, take), &summary);
    if (status.code() == StatusCode::kNotFound) status = Status::Ok();
  }
  return status;
}

}  // namespace

Status ForEachChange(std::string_view batch, const VisitChange& visit) {
  MutationBatch changes;
  if (!changes.AppendMutations(batch.substr(kBatchHeaderBytes)) ||
      changes.count() != LittleEndianAt<uint32_t>(batch, 8)) {
    return Status::Corruption("a record that is no batch of puts and erases");
  }
  auto sequence = LittleEndianAt<uint64_t>(batch, 0);
  changes.ForEach([&](const Mutation& change) { visit(change, sequence++); });
  return Status::Ok();
}

Status FindStoreRecord(const std::string& dir, const Manifest& manifest, StoreRecord* record) {
  std::optional<std::string> value;
  std::string path;
  const auto take = [&](std::string_view found, const std::string& in) {
    value = found;
    path = in;
  };
  Status status = VisitInTables(dir, manifest, kStoreKey, take);
  if (status.ok() && !value) status = VisitInLogs(dir, manifest, kStoreKey, take);
  if (!status.ok()) return status;
  if (!value) return Status::NotFound("no such record");
  Row row;
  status = In(path, row.Decode(Family::kDefault, kStoreKey, *value));
  if (status.ok()) *record = *row.As<StoreRecord>();
  return status;
}

Status FindProcessLog(const std::string& dir, const Manifest& manifest, ProcessLogRecord* record) {
  // Of the versions of the record, the newest has the greatest numbers.
  Status decoded;
  *record = {};
  const auto take = [&](std::string_view value, const std::string& path) {
    if (!decoded.ok()) return;
    Row row;
    decoded = In(path, row.Decode(Family::kDefault, kProcessLogKey, value));
    const auto age = [](const ProcessLogRecord& r) {
      return std::tuple(r.number, r.closed, r.position);
    };
    const auto* const found = row.As<ProcessLogRecord>();
    if (decoded.ok() && age(*found) >= age(*record)) *record = *found;
  };
  Status status = VisitInLogs(dir, manifest, kProcessLogKey, take);
  if (status.ok() && record->number == 0) {
    status = VisitInTables(dir, manifest, kProcessLogKey, take);
  }
  return status.ok() ? decoded : status;
}

}  // namespace wq::storage

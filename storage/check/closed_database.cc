#include "storage/check/closed_database.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <optional>
#include <vector>

#include "storage/check/wal_check.h"
#include "storage/record_keys.h"
#include "storage/rocksdb/setup.h"

namespace wq::storage {
namespace {

class ChangeVisitor final : public rocksdb::WriteBatch::Handler {
 public:
  ChangeVisitor(uint64_t sequence, const std::function<void(const Change&)>& visit)
      : sequence_(sequence), visit_(visit) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    visit_({family, sequence_++, true, key.ToStringView(), value.ToStringView()});
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    visit_({family, sequence_++, false, key.ToStringView(), {}});
    return rocksdb::Status::OK();
  }

 private:
  uint64_t sequence_;
  const std::function<void(const Change&)>& visit_;
};

// A Reader of one record that was read from tables or logs.
class OneRecord final : public Reader {
 public:
  explicit OneRecord(std::optional<std::string> value) : value_(std::move(value)) {}
  Status Get(Family, std::string_view, std::string* value) const override {
    if (!value_) return Status::NotFound("no such record");
    *value = *value_;
    return Status::Ok();
  }
  Status Scan(Family, std::string_view, std::string_view, const Visitor&) const override {
    return Status::NotSupported("only one record");
  }

 private:
  const std::optional<std::string> value_;
};

Status FindInTables(const std::string& dir, const Manifest& manifest, uint32_t family,
                    std::string_view key, std::optional<std::string>* value) {
  const auto found = manifest.families.find(family);
  if (found == manifest.families.end()) return Status::Ok();
  rocksdb::Options options;
  options.info_log = SilentLogger();
  for (const auto& [number, bytes] : found->second.tables) {
    const std::string path = dir + "/" + TableName(number);
    rocksdb::SstFileReader table(options);
    rocksdb::Status status = table.Open(path);
    if (!status.ok()) return FromRocksdbOpen(status, path);
    const std::unique_ptr<rocksdb::Iterator> it(table.NewIterator(rocksdb::ReadOptions()));
    it->Seek(ToSlice(key));
    if (it->Valid() && it->key() == ToSlice(key)) *value = it->value().ToString();
    if (!it->status().ok()) return FromRocksdb(it->status(), path);
    if (*value) break;
  }
  return Status::Ok();
}

Status FindInLogs(const std::string& dir, const Manifest& manifest, uint32_t family,
                  std::string_view key, std::optional<std::string>* value) {
  std::vector<WalFile> wals;
  Status status = ListWals(dir, &wals);
  for (const WalFile& wal : wals) {
    if (!status.ok() || *value) break;
    if (wal.number < manifest.FirstLog()) continue;
    WalSummary summary;
    status = ScanLog(dir + "/" + wal.name,
                     WalUse(&summary,
                            [&](std::string_view batch) {
                              if (*value) return Status::Ok();
                              return ForEachChange(batch, [&](const Change& change) {
                                if (change.family == family && change.is_put && change.key == key) {
                                  *value = change.value;
                                }
                              });
                            }),
                     &summary);
    if (status.code() == StatusCode::kNotFound) status = Status::Ok();
  }
  return status;
}

}  // namespace

Status ForEachChange(std::string_view batch, const std::function<void(const Change&)>& visit) {
  const rocksdb::WriteBatch changes{std::string(batch)};
  ChangeVisitor visitor(ReadLittle(batch, 8), visit);
  const rocksdb::Status status = changes.Iterate(&visitor);
  return status.ok() ? Status::Ok() : Status::Corruption(status.ToString());
}

Status FindStoreRecord(const std::string& dir, const Manifest& manifest, StoreRecord* record) {
  constexpr uint32_t kDefaultFamily = 0;
  std::optional<std::string> value;
  Status status = FindInTables(dir, manifest, kDefaultFamily, kStoreKey, &value);
  if (status.ok() && !value) status = FindInLogs(dir, manifest, kDefaultFamily, kStoreKey, &value);
  return status.ok() ? GetStore(OneRecord(std::move(value)), record) : status;
}

}  // namespace wq::storage

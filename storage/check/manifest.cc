#include "storage/check/manifest.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "storage/check/log_scan.h"
#include "storage/field_reader.h"

namespace wq::storage {
namespace {

// The fields of a record. A tag that is not here belongs to a feature that is not used.
enum Tag : uint32_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFileNumber = 3,
  kLastSequence = 4,
  kCompactCursor = 5,
  kDeletedFile = 6,
  kPrevLogNumber = 9,
  kMinLogNumberToKeep = 10,
  kNewFile4 = 103,
  kColumnFamily = 200,
  kColumnFamilyAdd = 201,
  kColumnFamilyDrop = 202,
  kMaxColumnFamily = 203,
  kInAtomicGroup = 300,
};
// Tags with this bit are followed by a length, so that a reader that does not know them skips them.
constexpr uint32_t kSkippable = 1U << 13;
constexpr uint32_t kEndOfFile4 = 1;

// One record: what changes, of one family.
struct Edit {
  uint32_t family = 0;
  std::optional<uint64_t> log_number;
  std::optional<uint64_t> log_to_keep;
  std::optional<uint64_t> last_sequence;
  std::optional<std::string> add;
  bool drop = false;
  std::vector<uint64_t> deleted;
  struct Table {
    uint64_t number = 0;
    uint64_t bytes = 0;
    std::pair<std::string, std::string> bounds;
  };
  std::vector<Table> added;
};

void TakeNewFile(FieldReader* fields, Edit* edit) {
  fields->Small();  // Level.
  Edit::Table table;
  table.number = fields->Number();
  table.bytes = fields->Number();
  table.bounds.first = fields->Bytes();
  table.bounds.second = fields->Bytes();
  edit->added.push_back(std::move(table));
  fields->Number();  // Smallest and largest sequence.
  fields->Number();
  while (fields->good() && fields->Small() != kEndOfFile4) fields->Bytes();
}

bool TakeField(uint32_t tag, FieldReader* fields, Edit* edit) {
  switch (tag) {
    case kLogNumber:
      edit->log_number = fields->Number();
      return true;
    case kMinLogNumberToKeep:
      edit->log_to_keep = fields->Number();
      return true;
    case kLastSequence:
      edit->last_sequence = fields->Number();
      return true;
    case kNextFileNumber:
    case kPrevLogNumber:
    case kMaxColumnFamily:
    case kInAtomicGroup:
      fields->Number();
      return true;
    case kComparator:
      fields->Bytes();
      return true;
    case kCompactCursor:
      fields->Small();
      fields->Bytes();
      return true;
    case kDeletedFile:
      fields->Small();
      edit->deleted.push_back(fields->Number());
      return true;
    case kNewFile4:
      TakeNewFile(fields, edit);
      return true;
    case kColumnFamily:
      edit->family = fields->Small();
      return true;
    case kColumnFamilyAdd:
      edit->add = fields->Bytes();
      return true;
    case kColumnFamilyDrop:
      edit->drop = true;
      return true;
    default:
      if ((tag & kSkippable) == 0) return false;
      fields->Bytes();
      return true;
  }
}

Status Decode(std::string_view record, Edit* edit) {
  FieldReader fields(record);
  while (fields.more()) {
    const uint32_t tag = fields.Small();
    if (!TakeField(tag, &fields, edit)) {
      return Status::Corruption("a field of unknown tag " + std::to_string(tag));
    }
  }
  return fields.good() ? Status::Ok() : Status::Corruption("a record that is cut off");
}

// Applies the edits of a manifest, in order.
class Edits {
 public:
  explicit Edits(Manifest* manifest) : manifest_(manifest) {
    manifest_->families[0].name = "default";
  }

  Status Take(std::string_view record);

 private:
  Status Apply(const Edit& edit);
  void NoteFirstLog();

  Manifest* const manifest_;
  bool in_initial_state_ = true;
  uint64_t first_log_ = 0;  // FirstLog() after the last edit.
};

Status Edits::Take(std::string_view record) {
  Edit edit;
  Status status = Decode(record, &edit);
  if (status.ok()) status = Apply(edit);
  if (status.ok()) NoteFirstLog();
  return status;
}

Status Edits::Apply(const Edit& edit) {
  if (edit.last_sequence) {
    manifest_->last_sequence = std::max(manifest_->last_sequence, *edit.last_sequence);
  }
  if (edit.log_to_keep) {
    manifest_->log_to_keep = std::max(manifest_->log_to_keep, *edit.log_to_keep);
  }
  if (edit.add) manifest_->families[edit.family].name = *edit.add;
  if (edit.drop) {
    manifest_->families.erase(edit.family);
    return Status::Ok();
  }
  const auto found = manifest_->families.find(edit.family);
  if (found == manifest_->families.end()) {
    return Status::Corruption("a record of a family that does not exist");
  }
  ManifestFamily& family = found->second;
  // The initial state has each family once.
  in_initial_state_ &= !family.log_number;
  if (edit.log_number) {
    family.log_number = *edit.log_number;
    manifest_->logs.insert(*edit.log_number);
  }
  for (const uint64_t number : edit.deleted) {
    family.tables.erase(number);
    family.bounds.erase(number);
  }
  for (const Edit::Table& table : edit.added) {
    family.tables[table.number] = table.bytes;
    family.bounds[table.number] = table.bounds;
  }
  return Status::Ok();
}

void Edits::NoteFirstLog() {
  const uint64_t first = manifest_->FirstLog();
  const bool moved = std::exchange(first_log_, first) != first;
  if (in_initial_state_) return;
  if (moved) manifest_->first_log_from = Manifest::FirstLogFrom::kChange;
  if (std::all_of(manifest_->families.begin(), manifest_->families.end(),
                  [first](const auto& family) { return family.second.log_number == first; })) {
    manifest_->first_log_from = Manifest::FirstLogFrom::kAgreement;
  }
}

// The name of the manifest in CURRENT, and the number in it.
Status ReadCurrent(const std::string& dir, std::string* name, uint64_t* number) {
  std::string current;
  Status status = ReadSmallFile(dir + "/CURRENT", 256, &current);
  if (status.code() == StatusCode::kNotFound) return Status::Corruption(status.message());
  if (!status.ok()) return status;
  constexpr std::string_view kPrefix = "MANIFEST-";
  const char* const end = current.data() + current.size();
  if (!current.starts_with(kPrefix) ||
      std::from_chars(current.data() + kPrefix.size(), end, *number).ptr != end - 1 ||
      current.back() != '\n') {
    return Status::Corruption(dir + "/CURRENT is damaged: it is not \"MANIFEST-<number>\"");
  }
  *name = current.substr(0, current.size() - 1);
  return status;
}

}  // namespace

uint64_t Manifest::FirstLog() const {
  uint64_t first = UINT64_MAX;
  for (const auto& [id, family] : families) first = std::min(first, family.log_number.value_or(0));
  return std::max(first == UINT64_MAX ? 0 : first, log_to_keep);
}

Status ReadManifest(const std::string& dir, Manifest* manifest) {
  *manifest = Manifest();
  std::string name;
  Status status = ReadCurrent(dir, &name, &manifest->number);
  if (!status.ok()) return status;
  manifest->path = dir + "/" + name;
  Edits edits(manifest);
  LogSummary summary;
  const LogUse use = {.take = [&edits](std::string_view record) { return edits.Take(record); },
                      .zeros_are_torn = true};
  status = ScanLog(manifest->path, use, &summary);
  manifest->bytes = summary.valid_bytes;
  manifest->zeroed = summary.zeroed;
  if (status.code() == StatusCode::kNotFound) {
    return Status::Corruption(manifest->path + ", which CURRENT names, is missing");
  }
  if (!status.ok()) return status;
  for (const auto& [id, family] : manifest->families) {
    if (!family.log_number) {
      return Status::Corruption(manifest->path + " ends before what it says of the family " +
                                family.name);
    }
  }
  return status;
}

std::string TableName(uint64_t number) {
  return absl::StrCat(absl::Dec(number, absl::kZeroPad6), ".sst");
}

std::string LogName(uint64_t number) {
  return absl::StrCat(absl::Dec(number, absl::kZeroPad6), ".log");
}

}  // namespace wq::storage

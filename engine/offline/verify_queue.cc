#include "engine/offline/verify_queue.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/offline/repeats.h"
#include "storage/record_keys.h"
#include "storage/row.h"
#include "storage/row_rules.h"

namespace wq {

using storage::Family;
using storage::QueueId;
using storage::Row;
using storage::RowPlace;
using storage::RowRule;

namespace {

// How many values that may be repeated one more scan compares.
constexpr size_t kSuspectsAtOnce = size_t{1} << 16;

uint64_t HashOf(std::string_view key) { return std::hash<std::string_view>()(key); }

// What no two rows of a queue may have in common.
struct Unique {
  uint64_t (*hash)(const Row& row);
  std::string (*value)(const Row& row);
  RowRule rule;  // Broken by a row whose value an earlier row has.
};

constexpr Unique kPendingKey = {[](const Row& row) { return HashOf(row.key()); },
                                [](const Row& row) { return std::string(row.key()); },
                                RowRule::kPendingTwice};
constexpr Unique kDelayedKey = {kPendingKey.hash, kPendingKey.value, RowRule::kDelayedTwice};
constexpr Unique kSequence = {[](const Row& row) { return row.pending().sequence; },
                              [](const Row& row) { return std::to_string(row.pending().sequence); },
                              RowRule::kSequenceTwice};

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
  const RowCounts& counts() const { return counts_; }

 private:
  using Families = std::vector<Family>;

  void CheckRows(const Families& families);
  void FindRepeated(const Families& families, const Unique& unique, Repeats* repeats);
  // Visits the sound rows. The first scan counts all rows and reports the others.
  void Scan(Family family, bool is_first, const std::function<void(const Row&)>& visit);
  void Take(const Row& row);
  // For CheckBeside: whether the key is in quarantine. False for every other place, since
  // FindRepeated finds second rows of these.
  bool HasRow(RowPlace place, std::string_view key) const;
  void CheckPlace(RowPlace place, std::string_view key);
  void Report(std::string_view key, RowRule broken) {
    if (broken != RowRule::kNone) findings_->AddKey("queue " + name_, key, broken);
  }

  const storage::Reader& reader_;
  const QueueId id_;
  const std::string& name_;
  const uint64_t high_water_mark_;
  Findings* const findings_;
  StepProgress* const step_;
  RowCounts counts_;
  Repeats quarantined_;
  Repeats pending_;
  Repeats sequences_;
  Repeats delayed_;
};

void QueueCheck::Run() {
  // Quarantine first: the other rows are compared with it.
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

// Frees the memory of the hashes.
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
        if (!seen.insert(unique.value(row)).second) Report(row.key(), unique.rule);
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
                                       if (is_first) step_->Add(1);
                                       return true;
                                     });
  if (!status.ok() && is_first) {
    findings_->Add("queue " + name_ + ", " + FamilyName(family), status.message());
  }
}

bool QueueCheck::HasRow(RowPlace place, std::string_view key) const {
  if (place != RowPlace::kQuarantine || !quarantined_.Has(HashOf(key))) return false;
  storage::QuarantineRecord record;
  std::string value;
  return storage::GetQuarantine(reader_, id_, key, &value, &record).ok();
}

void QueueCheck::CheckPlace(RowPlace place, std::string_view key) {
  Report(key, storage::CheckBeside(place, [&](RowPlace other) { return HasRow(other, key); }));
}

void QueueCheck::Take(const Row& row) {
  const std::string_view key = row.key();
  switch (row.kind()) {
    case Row::Kind::kPending:
      ++counts_.pending;
      pending_.Add(HashOf(key));
      sequences_.Add(row.pending().sequence);
      Report(key, storage::CheckSequence(row.pending().sequence, high_water_mark_));
      CheckPlace(RowPlace::kPending, key);
      break;
    case Row::Kind::kDelayed:
      ++counts_.delayed;
      delayed_.Add(HashOf(key));
      CheckPlace(RowPlace::kDelayed, key);
      break;
    case Row::Kind::kFailures:
      ++counts_.failing;
      CheckPlace(RowPlace::kFailures, key);
      break;
    case Row::Kind::kQuarantine:
      ++counts_.quarantined;
      quarantined_.Add(HashOf(key));
      break;
    default:
      break;
  }
}

}  // namespace

RowCounts CheckQueueRows(const storage::Reader& reader, QueueId id, const std::string& name,
                         uint64_t high_water_mark, Findings* findings, StepProgress* step) {
  QueueCheck queue(reader, id, name, high_water_mark, findings, step);
  queue.Run();
  return queue.counts();
}

}  // namespace wq

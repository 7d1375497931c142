#include <algorithm>
#include <climits>
#include <limits>
#include <utility>
#include <vector>

#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"

namespace wq::storage {
namespace {

// Keys may be anything, so messages show them in hex; the beginning is enough to find one.
std::string Hex(std::string_view bytes) {
  constexpr size_t kShown = 96;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (const char c : bytes.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  if (bytes.size() > kShown) text += "...";
  return text;
}

Status BadRecord(Family family, std::string_view record_key, std::string_view why) {
  return Status::Corruption("family " + std::string(kFamilyNames[static_cast<int>(family)]) +
                            ", record " + Hex(record_key) + ": " + std::string(why));
}

template <typename Message>
bool Parse(std::string_view value, Message* message) {
  return value.size() <= INT_MAX &&
         message->ParseFromArray(value.data(), static_cast<int>(value.size()));
}

constexpr std::string_view kBadValue = "its value cannot be decoded";
constexpr std::string_view kShortKey = "its key is too short";

size_t PendingPrefixBytes(Family family) {
  return family == Family::kDirty ? kDirtyPrefixBytes : kLanesPrefixBytes;
}

// REQUIRES: the key belongs to a queue, that is, has at least a queue id.
Status DecodePending(Family family, std::string_view record_key, std::string_view value,
                     PendingRecord* record) {
  const size_t prefix = PendingPrefixBytes(family);
  if (record_key.size() <= prefix) return BadRecord(family, record_key, kShortKey);
  pb::PendingRecord message;
  if (!Parse(value, &message)) return BadRecord(family, record_key, kBadValue);
  record->lane = kFastLane;
  if (family == Family::kLanes) {
    record->lane = LaneOfCode(ReadBig32(record_key.substr(kQueuePrefixBytes)));
    if (record->lane == kFastLane) {
      return BadRecord(family, record_key, "the default lane has no place here");
    }
  }
  record->key = record_key.substr(prefix);
  record->sequence = message.sequence();
  record->added_at_us = message.added_at_us();
  if (record->sequence >> kSequenceBlockBits != ReadBig64(record_key.substr(prefix - 8))) {
    return BadRecord(family, record_key, "its sequence is not of its block");
  }
  return Status::Ok();
}

Status DecodeDelayed(std::string_view record_key, std::string_view value, DelayedRecord* record) {
  if (record_key.size() <= kDelayedPrefixBytes) {
    return BadRecord(Family::kDelayed, record_key, kShortKey);
  }
  pb::DelayedRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDelayed, record_key, kBadValue);
  record->key = record_key.substr(kDelayedPrefixBytes);
  record->ready_at_us = TimeOfCode(ReadBig64(record_key.substr(kQueuePrefixBytes)));
  record->delay_us = message.delay_us();
  record->added_at_us = message.added_at_us();
  record->lane = message.lane();
  return Status::Ok();
}

// The views in `record` point into `record_key` and `message`.
Status DecodeFailures(std::string_view record_key, std::string_view value,
                      pb::FailureRecord* message, FailureRecord* record) {
  if (record_key.size() <= kQueuePrefixBytes) {
    return BadRecord(Family::kFailures, record_key, kShortKey);
  }
  if (!Parse(value, message)) return BadRecord(Family::kFailures, record_key, kBadValue);
  record->key = record_key.substr(kQueuePrefixBytes);
  record->count = message->count();
  record->first_at_us = message->first_at_us();
  record->last_at_us = message->last_at_us();
  record->last_error = message->last_error();
  return Status::Ok();
}

// Scans [begin, end) and stops at the first record that `decode_and_visit` finds bad.
// `decode_and_visit(key, value, &go_on)` returns a Status.
template <typename DecodeAndVisit>
Status ScanDecoded(const Reader& reader, Family family, std::string_view begin,
                   std::string_view end, const DecodeAndVisit& decode_and_visit) {
  Status bad;
  Status scanned =
      reader.Scan(family, begin, end, [&](std::string_view key, std::string_view value) {
        bool go_on = true;
        bad = decode_and_visit(key, value, &go_on);
        return bad.ok() && go_on;
      });
  return scanned.ok() ? bad : scanned;
}

// One block's pending records, to be visited by sequence. Records arrive in the order of the disk.
class BlockSorter {
 public:
  using Visitor = std::function<bool(const PendingRecord&)>;
  explicit BlockSorter(const Visitor& visit) : visit_(visit) {}

  // Takes one record; visits the previous block first if this one begins another. False when the
  // visitor wants no more.
  bool Take(const PendingRecord& record) {
    if (!rows_.empty() && !SameBlock(record) && !VisitBlock()) return false;
    lane_ = record.lane;
    rows_.push_back({record.sequence, record.added_at_us, keys_.size(), record.key.size()});
    keys_.append(record.key);
    return true;
  }

  bool VisitBlock() {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::pair(a.sequence, a.key_at) < std::pair(b.sequence, b.key_at);
    });
    for (const Row& row : rows_) {
      PendingRecord record{std::string_view(keys_).substr(row.key_at, row.key_bytes), lane_,
                           row.sequence, row.added_at_us};
      if (!visit_(record)) {
        stopped_ = true;
        break;
      }
    }
    rows_.clear();
    keys_.clear();
    return !stopped_;
  }

  bool stopped() const { return stopped_; }

 private:
  struct Row {
    uint64_t sequence;
    int64_t added_at_us;
    size_t key_at;  // In keys_.
    size_t key_bytes;
  };

  bool SameBlock(const PendingRecord& record) const {
    return record.lane == lane_ && SamePlace(record.sequence, rows_.front().sequence);
  }

  const Visitor& visit_;
  Lane lane_ = kFastLane;  // Of all rows.
  std::vector<Row> rows_;  // All of one lane and block.
  std::string keys_;       // Of the rows, one after another.
  bool stopped_ = false;
};

Status SortPending(const Reader& reader, Family family, std::string_view begin,
                   std::string_view end, BlockSorter* sorter) {
  if (sorter->stopped()) return Status::Ok();
  Status status = ScanDecoded(reader, family, begin, end,
                              [&](std::string_view key, std::string_view value, bool* go_on) {
                                PendingRecord record;
                                Status decoded = DecodePending(family, key, value, &record);
                                if (decoded.ok()) *go_on = sorter->Take(record);
                                return decoded;
                              });
  if (status.ok() && !sorter->stopped()) sorter->VisitBlock();
  return status;
}

// The pending record of `key` in one family, by going from block to block. NotFound.
Status FindPendingIn(const Reader& reader, Family family, QueueId queue, std::string_view key,
                     PendingRecord* record) {
  const size_t prefix_bytes = PendingPrefixBytes(family);
  std::string begin = QueueKeyPrefix(queue);
  const std::string end = PrefixEnd(begin);
  for (;;) {
    std::string block;  // The prefix of the next block that holds anything.
    Status status = ScanDecoded(
        reader, family, begin, end, [&](std::string_view first, std::string_view, bool* go_on) {
          *go_on = false;
          block = first.substr(0, prefix_bytes);
          return block.size() == prefix_bytes ? Status::Ok() : BadRecord(family, first, kShortKey);
        });
    if (!status.ok()) return status;
    if (block.empty()) return Status::NotFound("no pending record of this key");
    const std::string record_key = block + std::string(key);
    std::string value;
    status = reader.Get(family, record_key, &value);
    if (status.ok()) {
      status = DecodePending(family, record_key, value, record);
      record->key = key;
    }
    if (status.code() != StatusCode::kNotFound) return status;
    begin = PrefixEnd(block);
    // The last block of all: PrefixEnd then is the queue's end, or nothing at all.
    if (begin.empty() || begin == end) return status;
  }
}

}  // namespace

Status GetStore(const Reader& reader, StoreRecord* record) {
  std::string value;
  Status status = reader.Get(Family::kDefault, kStoreKey, &value);
  if (!status.ok()) return status;
  pb::StoreRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDefault, kStoreKey, kBadValue);
  record->format_version = message.format_version();
  record->uuid = message.uuid();
  record->created_at_us = message.created_at_us();
  return Status::Ok();
}

Status GetQueueState(const Reader& reader, QueueId queue, QueueStateRecord* record) {
  const std::string key = StateKey(queue);
  std::string value;
  Status status = reader.Get(Family::kDefault, key, &value);
  if (!status.ok()) return status;
  pb::QueueStateRecord message;
  if (!Parse(value, &message)) return BadRecord(Family::kDefault, key, kBadValue);
  record->sequence_high_water = message.sequence_high_water();
  return Status::Ok();
}

Status GetFailures(const Reader& reader, QueueId queue, std::string_view key,
                   std::string* value_buffer, FailureRecord* record) {
  std::string record_key;
  AppendFailureKey(queue, key, &record_key);
  Status status = reader.Get(Family::kFailures, record_key, value_buffer);
  if (!status.ok()) return status;
  pb::FailureRecord message;
  status = DecodeFailures(record_key, *value_buffer, &message, record);
  if (!status.ok()) return status;
  *value_buffer = std::move(*message.mutable_last_error());
  record->key = key;
  record->last_error = *value_buffer;
  return status;
}

Status ScanQueues(const Reader& reader, const std::function<bool(const QueueRecord&)>& visit) {
  return ScanDecoded(reader, Family::kDefault, kQueuePrefix, PrefixEnd(kQueuePrefix),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       pb::QueueRecord message;
                       if (!Parse(value, &message)) {
                         return BadRecord(Family::kDefault, key, kBadValue);
                       }
                       *go_on = visit({std::string(key.substr(kQueuePrefix.size())), message.id(),
                                       message.created_at_us()});
                       return Status::Ok();
                     });
}

Status ScanPending(const Reader& reader, QueueId queue,
                   const std::function<bool(const PendingRecord&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  const std::string end = PrefixEnd(begin);
  // The lanes above the default one, and (none, or it is corruption) the default one itself.
  std::string below = begin;
  AppendBig32(LaneCode(kFastLane) + 1, &below);
  BlockSorter sorter(visit);
  Status status = SortPending(reader, Family::kLanes, begin, below, &sorter);
  if (status.ok()) status = SortPending(reader, Family::kDirty, begin, end, &sorter);
  if (status.ok()) status = SortPending(reader, Family::kLanes, below, end, &sorter);
  return status;
}

Status ScanPendingUnordered(const Reader& reader, QueueId queue,
                            const std::function<bool(const PendingRecord&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  const std::string end = PrefixEnd(begin);
  bool stopped = false;
  for (const Family family : {Family::kDirty, Family::kLanes}) {
    if (stopped) break;
    Status status = ScanDecoded(reader, family, begin, end,
                                [&](std::string_view key, std::string_view value, bool* go_on) {
                                  PendingRecord record;
                                  Status decoded = DecodePending(family, key, value, &record);
                                  if (decoded.ok()) *go_on = visit(record);
                                  stopped = !*go_on;
                                  return decoded;
                                });
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status ScanDelayed(const Reader& reader, QueueId queue,
                   const std::function<bool(const DelayedRecord&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  return ScanDecoded(reader, Family::kDelayed, begin, PrefixEnd(begin),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       DelayedRecord record;
                       Status decoded = DecodeDelayed(key, value, &record);
                       if (decoded.ok()) *go_on = visit(record);
                       return decoded;
                     });
}

Status ScanFailures(const Reader& reader, QueueId queue,
                    const std::function<bool(const FailureRecord&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  pb::FailureRecord message;
  return ScanDecoded(reader, Family::kFailures, begin, PrefixEnd(begin),
                     [&](std::string_view key, std::string_view value, bool* go_on) {
                       FailureRecord record;
                       Status decoded = DecodeFailures(key, value, &message, &record);
                       if (decoded.ok()) *go_on = visit(record);
                       return decoded;
                     });
}

Status FindPending(const Reader& reader, QueueId queue, std::string_view key,
                   PendingRecord* record) {
  Status status = FindPendingIn(reader, Family::kDirty, queue, key, record);
  if (status.code() != StatusCode::kNotFound) return status;
  return FindPendingIn(reader, Family::kLanes, queue, key, record);
}

}  // namespace wq::storage

// Reading pending records: in hand-out order, in the order on disk, and by key.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "storage/record_decode.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"

namespace wq::storage {
namespace {

// The views in `record` point into `record_key` and `message`.
// REQUIRES: the key belongs to a queue, that is, has at least a queue id.
Status DecodePending(Family family, std::string_view record_key, std::string_view value,
                     pb::PendingRecord* message, PendingRecord* record) {
  const size_t prefix = PendingPrefixBytes(family);
  if (record_key.size() <= prefix) return BadRecord(family, record_key, kShortKey);
  if (!Parse(value, message)) return BadRecord(family, record_key, kBadValue);
  record->lane = kFastLane;
  if (family == Family::kLanes) {
    record->lane = LaneOfCode(ReadBig32(record_key.substr(kQueuePrefixBytes)));
    if (record->lane == kFastLane) {
      return BadRecord(family, record_key, "the default lane has no place here");
    }
  }
  record->key = record_key.substr(prefix);
  record->sequence = message->sequence();
  record->added_at_us = message->added_at_us();
  record->group = message->group();
  record->causes = message->causes();
  if (record->sequence >> kSequenceBlockBits != ReadBig64(record_key.substr(prefix - 8))) {
    return BadRecord(family, record_key, "its sequence is not of its block");
  }
  return Status::Ok();
}

// One block's pending records, to be visited by sequence. Records arrive in the order of the disk.
class BlockSorter {
 public:
  using Visitor = std::function<bool(const PendingRecord&)>;
  explicit BlockSorter(const Visitor& visit) : visit_(visit) {}

  // Takes one record; visits the previous block first if the record begins another one. False:
  // the visitor has ended the scan.
  bool Take(const PendingRecord& record) {
    if (!rows_.empty() && !SameBlock(record) && !VisitBlock()) return false;
    lane_ = record.lane;
    rows_.push_back({record.sequence, record.added_at_us, bytes_.size(), record.key.size(),
                     record.group.size(), record.causes.size()});
    bytes_.append(record.key).append(record.group).append(record.causes);
    return true;
  }

  bool VisitBlock() {
    Sort();
    for (const uint32_t place : order_) {
      const Row& row = rows_[place];
      const std::string_view bytes = std::string_view(bytes_).substr(row.key_at);
      PendingRecord record{bytes.substr(0, row.key_bytes),
                           lane_,
                           row.sequence,
                           row.added_at_us,
                           bytes.substr(row.key_bytes, row.group_bytes),
                           bytes.substr(row.key_bytes + row.group_bytes, row.causes_bytes)};
      if (!visit_(record)) {
        stopped_ = true;
        break;
      }
    }
    rows_.clear();
    bytes_.clear();
    return !stopped_;
  }

  bool stopped() const { return stopped_; }

 private:
  struct Row {
    uint64_t sequence;
    int64_t added_at_us;
    size_t key_at;  // In bytes_; the group follows the key, and the causes the group.
    size_t key_bytes;
    size_t group_bytes;
    size_t causes_bytes;
  };

  bool SameBlock(const PendingRecord& record) const {
    return record.lane == lane_ && SamePlace(record.sequence, rows_.front().sequence);
  }

  // Fills order_, by sequence. Records with equal sequences, which only a damaged store has, keep
  // their order on disk.
  void Sort() {
    order_.resize(rows_.size());
    const auto in_block = [this](size_t place) {
      return rows_[place].sequence & (kSequencesPerBlock - 1);
    };
    if (rows_.size() < kManyRows) {
      std::iota(order_.begin(), order_.end(), 0);
      std::stable_sort(order_.begin(), order_.end(),
                       [&](uint32_t a, uint32_t b) { return in_block(a) < in_block(b); });
      return;
    }
    begins_.assign(kSequencesPerBlock + 1, 0);  // Where in order_ the rows of a sequence begin.
    for (size_t i = 0; i < rows_.size(); ++i) ++begins_[in_block(i) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    for (size_t i = 0; i < rows_.size(); ++i) {
      order_[begins_[in_block(i)]++] = static_cast<uint32_t>(i);
    }
  }

  static constexpr size_t kManyRows =
      kSequencesPerBlock / 8;  // From here on a counting sort is cheaper.

  const Visitor& visit_;
  Lane lane_ = kFastLane;         // Of all rows.
  std::vector<Row> rows_;         // All of one lane and block.
  std::vector<uint32_t> order_;   // Places in rows_.
  std::vector<uint32_t> begins_;  // By sequence in the block.
  std::string bytes_;             // Keys, groups and causes of the rows, one after another.
  bool stopped_ = false;
};

Status SortPending(const Reader& reader, Family family, std::string_view begin,
                   std::string_view end, BlockSorter* sorter) {
  if (sorter->stopped()) return Status::Ok();
  pb::PendingRecord message;
  Status status = ScanDecoded(
      reader, family, begin, end, [&](std::string_view key, std::string_view value, bool* go_on) {
        PendingRecord record;
        Status decoded = DecodePending(family, key, value, &message, &record);
        if (decoded.ok()) *go_on = sorter->Take(record);
        return decoded;
      });
  if (status.ok() && !sorter->stopped()) sorter->VisitBlock();
  return status;
}

// The next block's prefix; empty if none follows.
std::string NextBlock(const std::string& block) {
  std::string next = PrefixEnd(block);
  if (!next.empty()) next.resize(block.size(), '\0');  // PrefixEnd leaves bytes out at the end.
  return next;
}

// The pending record of `key` in one family. Goes from block to block: one Scan at the key's place
// in a block finds the key, or the next record, which shows where to continue. NotFound.
Status FindPendingIn(const Reader& reader, Family family, QueueId queue, std::string_view key,
                     std::string* value_buffer, PendingRecord* record) {
  const size_t prefix_bytes = PendingPrefixBytes(family);
  const std::string all = QueueKeyPrefix(queue);
  const std::string end = PrefixEnd(all);
  std::string block = all;
  block.resize(prefix_bytes, '\0');
  std::string found;  // The record's key at or behind the place where `key` would be.
  while (!block.empty() && (end.empty() || block < end)) {
    found.clear();
    Status status = ScanDecoded(reader, family, block + std::string(key), end,
                                [&](std::string_view first, std::string_view value, bool* go_on) {
                                  *go_on = false;
                                  if (first.size() <= prefix_bytes)
                                    return BadRecord(family, first, kShortKey);
                                  found = first;
                                  *value_buffer = value;
                                  return Status::Ok();
                                });
    if (!status.ok()) return status;
    if (found.empty()) break;
    const std::string found_block = found.substr(0, prefix_bytes);
    const int order = std::string_view(found).substr(prefix_bytes).compare(key);
    if (order == 0) {
      pb::PendingRecord message;
      status = DecodePending(family, found, *value_buffer, &message, record);
      if (status.ok()) KeepViews(record, value_buffer);
      return status;
    }
    // A record of a later block, before the place of `key` there: scan that block next.
    block = found_block != block && order < 0 ? found_block : NextBlock(found_block);
  }
  return Status::NotFound("no pending record of this key");
}

}  // namespace

Status ScanPending(const Reader& reader, QueueId queue,
                   const std::function<bool(const PendingRecord&)>& visit) {
  const std::string begin = QueueKeyPrefix(queue);
  const std::string end = PrefixEnd(begin);
  // `below` is the end of the lanes above the default lane, and of the default lane itself, whose
  // records only a damaged store has in this family.
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
  pb::PendingRecord message;
  bool stopped = false;
  for (const Family family : {Family::kDirty, Family::kLanes}) {
    if (stopped) break;
    Status status = ScanDecoded(
        reader, family, begin, end, [&](std::string_view key, std::string_view value, bool* go_on) {
          PendingRecord record;
          Status decoded = DecodePending(family, key, value, &message, &record);
          if (decoded.ok()) *go_on = visit(record);
          stopped = !*go_on;
          return decoded;
        });
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status FindPending(const Reader& reader, QueueId queue, std::string_view key,
                   std::string* value_buffer, PendingRecord* record) {
  Status status = FindPendingIn(reader, Family::kDirty, queue, key, value_buffer, record);
  if (status.code() != StatusCode::kNotFound) return status;
  return FindPendingIn(reader, Family::kLanes, queue, key, value_buffer, record);
}

}  // namespace wq::storage

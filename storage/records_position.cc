// How far a pending key is from being handed out.
#include <algorithm>
#include <string>

#include "storage/record_decode.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "storage/records.pb.h"

namespace wq::storage {
namespace {

// Records of one family.
struct SequenceRange {
  Family family;
  std::string begin;
  std::string end;
};

// Counts records: one by one up to a limit, then by blocks.
class Counter {
 public:
  Counter(const Reader& reader, uint64_t max_counted) : reader_(reader), left_(max_counted) {}

  Status Add(const SequenceRange& range) {
    std::string begin = range.begin;
    if (left_ > 0) {
      begin = range.end;
      Status s = reader_.Scan(range.family, range.begin, range.end,
                              [&](std::string_view key, std::string_view) {
                                ++exact_;
                                if (--left_ > 0) return true;
                                begin = key;
                                begin.push_back('\0');  // What follows this key.
                                return false;
                              });
      if (!s.ok() || left_ > 0) return s;
    }
    return AddBlocks(range.family, std::move(begin), range.end);
  }

  uint64_t at_least() const { return exact_; }
  uint64_t at_most() const { return exact_ + blocks_ * kSequencesPerBlock; }

 private:
  // Counts the blocks that are not empty, by one look-up each: every one may be full.
  Status AddBlocks(Family family, std::string begin, const std::string& end) {
    while (!begin.empty() && begin < end) {
      std::string block;
      Status s = reader_.Scan(family, begin, end, [&](std::string_view key, std::string_view) {
        block = key.substr(0, PendingPrefixBytes(family));
        return false;
      });
      if (!s.ok() || block.empty()) return s;
      ++blocks_;
      begin = PrefixEnd(block);
    }
    return Status::Ok();
  }

  const Reader& reader_;
  uint64_t left_;
  uint64_t exact_ = 0;
  uint64_t blocks_ = 0;
};

// Counts the records of a block with a smaller sequence.
Status CountInBlock(const Reader& reader, const SequenceRange& block, uint64_t sequence,
                    uint64_t* count) {
  *count = 0;
  pb::PendingRecord message;
  return ScanDecoded(reader, block.family, block.begin, block.end,
                     [&](std::string_view key, std::string_view value, bool*) {
                       if (!Parse(value, &message)) return BadRecord(block.family, key, kBadValue);
                       if (message.sequence() < sequence) ++*count;
                       return Status::Ok();
                     });
}

}  // namespace

Status CountPendingBefore(const Reader& reader, QueueId queue, Lane lane, uint64_t sequence,
                          uint64_t max_counted, uint64_t* at_least, uint64_t* at_most) {
  const std::string all = QueueKeyPrefix(queue);
  const Family family = PendingFamily(lane);
  std::string block;
  AppendPendingKey(queue, lane, sequence, {}, &block);

  uint64_t in_block = 0;
  const SequenceRange own{family, block, PrefixEnd(block)};
  if (Status s = CountInBlock(reader, own, sequence, &in_block); !s.ok()) return s;

  // In the order of ScanPending: the lanes above the default lane, the default lane, the lanes
  // below it.
  std::string below = all;
  AppendBig32(LaneCode(kFastLane) + 1, &below);
  Counter counter(reader, max_counted);
  Status s;
  if (lane > kFastLane) {
    s = counter.Add({Family::kLanes, all, block});
  } else {
    s = counter.Add({Family::kLanes, all, below});
    if (s.ok()) {
      s = counter.Add({Family::kDirty, all, lane == kFastLane ? block : PrefixEnd(all)});
    }
    if (s.ok() && lane < kFastLane) s = counter.Add({Family::kLanes, below, block});
  }
  *at_least = in_block + counter.at_least();
  *at_most = in_block + counter.at_most();
  return s;
}

}  // namespace wq::storage

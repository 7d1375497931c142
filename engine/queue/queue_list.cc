// The listings of a Queue: its queued keys in hand-out order, its quarantined keys, limits and
// cursors. All read in pieces, with the lock held for one piece at a time; no other memory than
// that of a piece is allocated under the lock.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/little_endian.h"
#include "engine/queue/queue_impl.h"
#include "wq/queue.h"

namespace wq {
namespace {

constexpr size_t kPieceSteps = 256;
constexpr size_t kPieceBytes = size_t{256} << 10;

// Where a page of queued keys ends.
struct PagePlace {
  uint32_t shard = 0;
  OrderWalk::Place at;
  uint64_t passed = 0;  // Keys of all pages up to there.
  std::string key;      // The last one; empty: nothing was listed yet.
};

std::string WritePage(const PagePlace& place) {
  std::string page;
  PutLittleEndian(place.shard, &page);
  PutLittleEndian(place.at.lane, &page);
  PutLittleEndian(place.at.sequence, &page);
  PutLittleEndian(place.passed, &page);
  return page + place.key;
}

bool ReadPage(std::string_view page, PagePlace* place) {
  constexpr size_t kHeaderBytes = 24;
  if (page.empty()) {
    return true;
  }
  if (page.size() <= kHeaderBytes) {
    return false;
  }
  place->shard = LittleEndianAt<uint32_t>(page, 0);
  place->at.lane = LittleEndianAt<Lane>(page, 4);
  place->at.sequence = LittleEndianAt<uint64_t>(page, 8);
  place->passed = LittleEndianAt<uint64_t>(page, 16);
  place->key = page.substr(kHeaderBytes);
  return true;
}

// The queued keys of a queue in hand-out order, while the queue changes.
class QueuedWalk {
 public:
  explicit QueuedWalk(Queue::Impl* queue, const PagePlace& from = {})
      : queue_(queue), from_(from) {}
  ~QueuedWalk() {
    if (walk_ != nullptr) {
      const MutexLock lock(queue_->mu);
      walk_->Stop();
    }
  }
  QueuedWalk(const QueuedWalk&) = delete;
  QueuedWalk& operator=(const QueuedWalk&) = delete;

  // Calls visit(item) under the lock for the next items, until it returns false or a piece is done.
  // Returns whether there may be more: not if it returned false, or after the last item.
  template <typename Visit>
  bool Piece(const Visit& visit) {
    return queue_->Read([&](const QueueState& state) { return PieceOf(state, visit); });
  }

  // Behind the item for which `visit` returned false.
  const PagePlace& end() const { return end_; }

 private:
  template <typename Visit>
  bool PieceOf(const QueueState& state, const Visit& visit) {
    size_t bytes = 0;
    for (size_t step = 0; step < kPieceSteps && bytes < kPieceBytes; ++step) {
      if (walk_ == nullptr && !BeginShard(state)) {
        return false;
      }
      const Item* const item = walk_->Next();
      if (item == nullptr) {
        EndShard();
        ++shard_;
        continue;
      }
      bytes += item->key_bytes;
      ++passed_;
      if (!IsBefore(*item) && !visit(*item)) {
        end_ = {.shard = static_cast<uint32_t>(shard_),
                .at = {.lane = item->lane, .sequence = item->sequence},
                .passed = passed_,
                .key = std::string(item->key())};
        return false;
      }
    }
    return true;
  }

  bool BeginShard(const QueueState& state) {
    if (state.Len() == 0) {  // So no walk begins in the state that closed queues share.
      return false;
    }
    if (!begun_ && !from_.key.empty()) {
      const Item* const last = state.Find(from_.key);
      const bool stayed = last != nullptr && last->state == KeyState::kQueued &&
                          last->lane == from_.at.lane && last->sequence == from_.at.sequence &&
                          last->shard == from_.shard;
      walk_ = state.WalkQueued(from_.shard);
      by_place_ = walk_ != nullptr && walk_->GoTo(from_.at, stayed ? last : nullptr);
      if (by_place_) {
        shard_ = from_.shard;
        passed_ = from_.passed;
      } else if (walk_ != nullptr) {
        EndShard();
      }
    }
    begun_ = true;
    if (walk_ == nullptr) {
      walk_ = state.WalkQueued(shard_);
    }
    return walk_ != nullptr;
  }

  void EndShard() {
    walk_->Stop();
    ended_.push_back(std::move(walk_));
  }

  // Whether the item was on a page before.
  bool IsBefore(const Item& item) const {
    if (!by_place_) {
      return passed_ <= from_.passed;
    }
    return shard_ == from_.shard && item.lane == from_.at.lane &&
           item.sequence <= from_.at.sequence;
  }

  Queue::Impl* const queue_;
  const PagePlace from_;
  bool begun_ = false;
  bool by_place_ = false;  // from_.at says which items were on pages before; else from_.passed.
  size_t shard_ = 0;
  std::unique_ptr<OrderWalk> walk_;                // Of the shard. Null: it is to begin.
  std::vector<std::unique_ptr<OrderWalk>> ended_;  // To be freed without the lock.
  uint64_t passed_ = 0;
  PagePlace end_;
};

QueuedKey Copy(const Item& item) {
  return {
      .key = std::string(item.key()), .lane = item.lane, .group = std::string(item.group_name())};
}

// Appends the next keys of the walk, without the first `offset`, up to `limit`. Returns whether it
// has ended because of the limit.
bool AppendKeys(QueuedWalk* walk, size_t offset, size_t limit, std::vector<QueuedKey>* keys) {
  std::vector<QueuedKey> piece;
  piece.reserve(kPieceSteps);
  bool more = limit > 0;
  bool full = false;
  while (more) {
    more = walk->Piece([&](const Item& item) {
      if (offset > 0) {
        --offset;
        return true;
      }
      piece.push_back(Copy(item));
      full = --limit == 0;
      return !full;
    });
    std::move(piece.begin(), piece.end(), std::back_inserter(*keys));
    piece.clear();
  }
  return full;
}

}  // namespace

std::vector<QueuedKey> Queue::List(size_t offset, size_t limit) const {
  std::vector<QueuedKey> keys;
  QueuedWalk walk(impl_.get());
  AppendKeys(&walk, offset, limit, &keys);
  return keys;
}

Status Queue::ListPage(size_t offset, size_t limit, std::string* page,
                       std::vector<QueuedKey>* keys) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  PagePlace from;
  if (!ReadPage(*page, &from)) {
    return Status::InvalidArgument("the page is not one that a call has returned");
  }
  QueuedWalk walk(impl_.get(), from);
  *page = AppendKeys(&walk, offset, limit, keys) ? WritePage(walk.end()) : std::string();
  return {};
}

Status Queue::PositionOf(std::string_view key, size_t* position, size_t max_counted) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const bool queued = impl_->Read([key](const QueueState& state) {
    const Item* const item = state.Find(key);
    return item != nullptr && item->state == KeyState::kQueued;
  });
  size_t before = 0;
  bool found = false;
  bool more = queued && max_counted > 0;
  QueuedWalk walk(impl_.get());
  while (more) {
    more = walk.Piece([&](const Item& item) {
      found = item.key() == key;
      before += found ? 0 : 1;
      return !found && before < max_counted;
    });
  }
  if (!found) {
    return NoSuch("not queued", key);
  }
  *position = before;
  return {};
}

std::vector<QuarantinedKey> Queue::Quarantined(std::string_view after, size_t offset,
                                               size_t limit) const {
  constexpr size_t kSkipSteps = 4096;  // They read no item.
  std::vector<QuarantinedKey> keys;
  std::vector<QuarantinedKey> piece;
  piece.reserve(kPieceSteps);
  std::string last(after);
  for (bool more = limit > 0; more;) {
    size_t skipped = 0;
    size_t bytes = 0;
    const auto visit = [&](const Item& item) {
      if (offset > 0) {
        --offset;
        more = ++skipped == kSkipSteps;
      } else {
        piece.push_back({.key = std::string(item.key()),
                         .failures = item.failures->count,
                         .last_error = item.failures->last_error,
                         .quarantined_at_us = item.failures->quarantined_at_us});
        bytes += item.key_bytes + kMaxErrorBytes;
        more = keys.size() + piece.size() < limit && bytes >= kPieceBytes;
        if (keys.size() + piece.size() == limit) {
          return false;
        }
      }
      if (more) {
        last = item.key();
      }
      return !more;
    };
    {
      const MutexLock lock(impl_->mu);
      more = false;
      impl_->state->ForEachQuarantined(last, visit);
    }
    std::move(piece.begin(), piece.end(), std::back_inserter(keys));
    piece.clear();
  }
  return keys;
}

std::map<std::string, std::string> Queue::Cursors() const {
  std::map<std::string, std::string> all;
  std::vector<std::pair<std::string, std::string>> piece;
  piece.reserve(kPieceSteps);
  for (bool more = true; more;) {
    size_t bytes = 0;
    {
      const MutexLock lock(impl_->mu);
      const auto& cursors = impl_->state->cursors();
      auto it = all.empty() ? cursors.begin() : cursors.upper_bound(all.rbegin()->first);
      for (; it != cursors.end() && piece.size() < kPieceSteps && bytes < kPieceBytes; ++it) {
        bytes += it->second.size();
        piece.emplace_back(*it);
      }
      more = it != cursors.end();
    }
    all.insert(piece.begin(), piece.end());
    piece.clear();
  }
  return all;
}

}  // namespace wq

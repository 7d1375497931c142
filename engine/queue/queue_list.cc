// The listings of a Queue: the first of its queued keys, in one hold of the lock; the place of a
// key, its quarantined keys and cursors, in pieces, with the lock held for one piece at a time.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/queue/queue_impl.h"
#include "wq/queue.h"

namespace wq {
namespace {

constexpr size_t kPieceSteps = 256;
constexpr size_t kPieceBytes = size_t{256} << 10;

}  // namespace

std::vector<QueuedKey> Queue::List(size_t limit) const {
  limit = std::min(limit, kMaxListed);
  std::vector<QueuedKey> keys;
  keys.reserve(limit);
  size_t bytes = 0;
  const auto copy = [&](const Item& item) {
    if (keys.size() == limit || bytes >= kPieceBytes) {
      return false;
    }
    keys.push_back({.key = std::string(item.key()),
                    .lane = item.lane,
                    .group = std::string(item.group_name())});
    bytes += item.key_bytes;
    return true;
  };
  impl_->Read([&copy](const QueueState& state) {
    state.ForEachQueued(copy);
    return 0;
  });
  return keys;
}

Status Queue::PositionOf(std::string_view key, size_t* position) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  struct Place {
    uint16_t shard;
    Lane lane;
    uint64_t sequence;
    const Group* group;  // Only compared: it may be gone.
  };
  const std::optional<Place> place =
      impl_->Read([key](const QueueState& state) -> std::optional<Place> {
        const Item* const item = state.Find(key);
        if (item == nullptr || item->state != KeyState::kQueued) {
          return std::nullopt;
        }
        return Place{item->shard, item->lane, item->sequence, item->group};
      });
  if (!place.has_value()) {
    return NoSuch("not queued", key);
  }
  size_t before = 0;
  size_t before_in_group = 0;
  std::unordered_map<const Group*, size_t> others;  // The keys of its lane, if groups take turns.
  std::vector<const Group*> piece;
  piece.reserve(kPieceSteps);
  for (uint64_t from = 0; from < ItemTable::kWalkEnd;) {
    {
      const MutexLock lock(impl_->mu);
      const bool fair = impl_->state->fair();
      from = impl_->state->ForEachFrom(from, [&](const Item& item) {
        if (item.state != KeyState::kQueued || item.shard != place->shard ||
            item.lane < place->lane) {
          return;
        }
        const bool turns = fair && item.lane == place->lane;
        if (turns && item.group != place->group) {
          piece.push_back(item.group);
        } else if (item.lane > place->lane || item.sequence < place->sequence) {
          ++(turns ? before_in_group : before);
        }
      });
    }
    for (const Group* const group : piece) {
      ++others[group];
    }
    piece.clear();
  }
  for (const auto& [_, keys] : others) {
    before += std::min(keys, before_in_group);
  }
  *position = before + before_in_group;
  return {};
}

std::vector<QuarantinedKey> Queue::Quarantined(std::string_view after, size_t limit) const {
  std::vector<QuarantinedKey> keys;
  std::vector<QuarantinedKey> piece;
  piece.reserve(kPieceSteps);
  std::string last(after);
  for (bool more = limit > 0; more;) {
    size_t bytes = 0;
    const auto visit = [&](const Item& item) {
      piece.push_back({.key = std::string(item.key()),
                       .failures = item.failures->count,
                       .last_error = item.failures->last_error,
                       .quarantined_at_us = item.failures->quarantined_at_us});
      bytes += item.key_bytes + kMaxErrorBytes;
      const bool full = keys.size() + piece.size() == limit;
      more = !full && bytes >= kPieceBytes;
      if (more) {
        last = item.key();
      }
      return !full && !more;
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

// The part of QueueState for resyncs: delays after which a key is reconciled again. See
// QueueOptions::resync.

#include <algorithm>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mutant.h"
#include "engine/state/queue_state.h"

namespace wq {

void QueueState::PushDelay(DelayEntry* entry, int64_t steady_us) {
  if (entry->resync) {
    resyncs_.Push(entry);
    resync_gate_.Add(entry->delay_us, steady_us);
  } else {
    delays_.Push(entry);
  }
}

void QueueState::RemoveDelay(Item* item) {
  if (item->delay->resync) {
    resync_gate_.Remove(item->delay->delay_us);
    resyncs_.Remove(std::move(item->delay));
  } else {
    delays_.Remove(std::move(item->delay));
  }
}

int64_t QueueState::SpreadResync(std::string_view key, int64_t period_us) const {
  const auto most_us = static_cast<int64_t>(static_cast<double>(period_us) * resync_.jitter);
  const uint64_t hash = XXH3_64bits(key.data(), key.size());
  const int64_t spread_us =
      period_us - most_us + static_cast<int64_t>(hash % (2 * static_cast<uint64_t>(most_us) + 1));
  return std::min(spread_us, kMaxDelay.count());
}

// An item that has a resync keeps its period. It is moved only if that is worth a write.
void QueueState::ResyncLater(Item* item, Time now) {
  const DelayEntry* const entry = item->delay.get();
  if (item->quarantined()) {
    return;
  }
  if (entry == nullptr) {
    SetResync(item, SpreadResync(item->key(), resync_.period.count()), ResyncLane(), now);
  } else if (entry->resync && !WQ_MUTANT(resync_not_put_off) &&
             now.steady_us + entry->delay_us - entry->due_us > entry->delay_us / 10) {
    SetResync(item, entry->delay_us, entry->lane, now);
  }
}

// The causes of a resync that it replaces stay.
void QueueState::SetResync(Item* item, int64_t delay_us, Lane lane, Time now) {
  SetDelay(item,
           {.due_us = now.steady_us + delay_us,
            .ready_at_us = Later(now.wall_us, delay_us),
            .delay_us = delay_us,
            .added_at_us = now.wall_us,
            .lane = lane,
            .resync = true},
           now.steady_us);
}

size_t QueueState::FireResyncs(Time now, size_t limit, size_t max_bytes, size_t* bytes) {
  size_t fired = 0;
  if (delays_stopped_ || resyncs_.empty() ||
      resync_gate_.NextUs(resyncs_.NextDueUs()) > now.steady_us) {
    return 0;
  }
  while (resync_gate_.IsOpen(now.steady_us)) {
    const DelayEntry* const entry = resyncs_.Due(now.steady_us);
    if (entry == nullptr) {
      break;
    }
    if (fired >= limit || *bytes >= max_bytes) {
      return fired;  // The next call goes on with this round.
    }
    resync_gate_.Pass();
    ++fired;
    Item* const item = entry->item;
    *bytes += item->key_bytes;
    if (item->state == KeyState::kClean) {
      static_cast<void>(RecordAdd(item->key(), Fire(item, now.wall_us)));
    } else {  // It is about to be reconciled.
      SetResync(item, entry->delay_us, entry->lane, now);
    }
  }
  resync_gate_.EndRound(now.steady_us);
  return fired;
}

}  // namespace wq

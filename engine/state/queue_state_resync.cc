// The part of QueueState for resyncs: delays after which a key is reconciled again. See
// QueueOptions::resync.

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mutant.h"
#include "engine/state/queue_state.h"

namespace wq {

void QueueState::PushDelay(DelayEntry* entry, int64_t steady_us) {
  if (entry->resync) {
    ResyncBand& band = resyncs_[ResyncGate::BandOf(entry->delay_us)];
    band.keys.Push(entry);
    band.gate.Add(entry->delay_us, steady_us);
  } else {
    delays_.Push(entry);
  }
}

void QueueState::RemoveDelay(Item* item) {
  if (item->delay->resync) {
    ResyncBand& band = resyncs_[ResyncGate::BandOf(item->delay->delay_us)];
    band.gate.Remove(item->delay->delay_us);
    band.keys.Remove(std::move(item->delay));
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

int64_t QueueState::NextResyncUs() const {
  int64_t next_us = std::numeric_limits<int64_t>::max();
  for (const auto& [_, band] : resyncs_) {
    if (!band.keys.empty()) {
      next_us = std::min(next_us, band.gate.NextUs(band.keys.NextDueUs()));
    }
  }
  return next_us;
}

// A round is of all bands.
size_t QueueState::FireResyncs(Time now, size_t limit, size_t max_bytes, size_t* bytes) {
  if (delays_stopped_ || NextResyncUs() > now.steady_us) {
    return 0;
  }
  size_t fired = 0;
  for (auto& [_, band] : resyncs_) {
    while (band.gate.IsOpen(now.steady_us)) {
      const DelayEntry* const entry = band.keys.Due(now.steady_us);
      if (entry == nullptr) {
        break;
      }
      if (fired >= limit || *bytes >= max_bytes) {
        return fired;  // The next call goes on with this round.
      }
      band.gate.Pass();
      ++fired;
      Item* const item = entry->item;
      *bytes += item->key_bytes;
      if (item->state == KeyState::kClean) {
        static_cast<void>(RecordAdd(item->key(), Fire(item, now.wall_us)));
      } else {  // It is about to be reconciled.
        SetResync(item, entry->delay_us, entry->lane, now);
      }
    }
    band.gate.EndRound(now.steady_us);
  }
  return fired;
}

}  // namespace wq

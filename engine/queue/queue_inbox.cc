// The Adds of a Queue that go through its inbox, and Queue::Impl::Lock, which applies them.

#include <algorithm>

#include "base/mutant.h"
#include "engine/queue/queue_impl.h"

namespace wq {

Queue::Impl::Lock::Lock(Impl& impl) : impl_(impl) {
  impl_.mu.Lock();
  if (!WQ_MUTANT(look_past_the_inbox)) {
    impl_.MakeAdds();
  }
}

Queue::Impl::Lock::~Lock() {
  impl_.mu.Unlock();
  if (impl_.journal != nullptr) {
    impl_.journal->WakeWriter();
  }
}

bool Queue::Impl::MayUseInbox() const {
  // metrics and on_ready have to be called before such an Add returns, and group_of before it is
  // applied.
  return metrics == nullptr && options.on_ready == nullptr && options.group_of == nullptr;
}

void Queue::Impl::AllowInbox(bool allowed) {
  const Lock lock(*this);
  inbox_allowed = allowed && MayUseInbox();
  if (inbox_allowed) {
    OpenInbox();
  } else {
    ShutInbox();
  }
}

bool Queue::Impl::OfferAdd(std::string_view key, const AddOptions& add) {
  if (add.group.has_value() || (add.lane.has_value() && !HasLane(*add.lane)) ||
      (journal != nullptr && journal->MustWait())) {
    return false;
  }
  if (!inbox.Offer({.key = key, .lane = add.lane, .wall_us = clock->WallUs()})) {
    return false;
  }
  if (journal != nullptr) {
    journal->Announce();
  }
  return true;
}

void Queue::Impl::MakeAdds() {
  if (inbox.empty()) {
    return;
  }
  inbox.Take(&adds_taken);
  const size_t count = adds_taken.size();
  for (size_t i = 0; i < std::min(kAddsAhead, count); ++i) {
    state.Prefetch(adds_taken[i].key);
  }
  for (size_t i = 0; i < count; ++i) {
    if (i + kAddsAhead < count) {
      state.Prefetch(adds_taken[i + kAddsAhead].key);
    }
    const InboxAdd add = adds_taken[i];
    state.Add(add.key, {.lane = add.lane}, add.wall_us);
    if (!batch.empty()) {  // One batch for each Add: RowChange describes a batch of one mutation.
      state.Stamp(journal->Append(batch, Journal::Urgency::kUrgent, state.row_change()));
      batch.Clear();
    }
  }
  // The inbox is not used while a Get waits, nor in a queue with metrics: so there is no Get to
  // wake for these keys, and no count to report.
  readied_seen = state.readied();
  adds_seen = state.adds();
}

void Queue::Impl::OpenInbox() {
  if (inbox_allowed && getters.empty() && !shutting_down) {
    inbox.Open();
  }
}

void Queue::Impl::ShutInbox() {
  inbox.Shut();
  MakeAdds();
}

}  // namespace wq

// The part of QueueState that knows why keys need work.

#include <utility>

#include "base/causes.h"
#include "engine/state/queue_state.h"

namespace wq {

bool QueueState::MergeAny(Item* item, Causes ItemCauses::*which, const Wanted& wanted,
                          bool failed) {
  const ItemCauses* const found = causes_.Find(*item);
  const bool inherits = failed && found != nullptr && !found->held.empty();
  if (!wanted.explains() && !inherits) {
    return false;
  }
  ItemCauses* const causes = causes_.FindOrInsert(item);
  const bool inherited = inherits && MergeCauses(causes->held, &(causes->*which));
  const bool merged = MergeCause(wanted.reason, wanted.trace_parent, &(causes->*which));
  return inherited || merged;
}

// The item is not dirty any more. If a worker holds it, its record is put without them.
void QueueState::ClearDirtyCauses(Item* item) {
  ItemCauses* const causes = causes_.Find(*item);
  if (causes == nullptr || causes->dirty.empty()) {
    return;
  }
  causes->dirty = {};
  if (item->processing()) {
    PutPending(item);
  }
  causes_.Trim(item);
}

bool QueueState::CausesOf(std::string_view key, Causes* causes) const {
  *causes = {};
  const Item* const item = items_.Find(key);
  if (item == nullptr || (item->state == KeyState::kClean && item->delay == nullptr)) {
    return false;
  }
  if (const ItemCauses* const found = causes_.Find(*item); found != nullptr) {
    if (item->processing()) {
      *causes = found->held;
    } else {
      *causes = found->dirty;
      MergeCauses(found->delayed, causes);
    }
  }
  return true;
}

}  // namespace wq

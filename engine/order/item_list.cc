#include "engine/order/item_list.h"

#include "base/mutant.h"

namespace wq {

void ItemList::PushBack(Item* item) {
  item->prev = back_;
  item->next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = item;
  back_ = item;
  ++size_;
}

void ItemList::Insert(Item* item) {
  if (back_ == nullptr || IsOlder()(back_, item) || WQ_MUTANT(put_back_at_the_end)) {
    PushBack(item);
    return;
  }
  ++size_;
  if (IsOlder()(item, front_)) {
    item->prev = nullptr;
    item->next = front_;
    front_->prev = item;
    front_ = item;
    return;
  }
  if (strays_ == nullptr) {
    strays_ = std::make_unique<Strays>();
  }
  strays_->insert(item);
}

void ItemList::Remove(Item* item) {
  --size_;
  if (item->prev == nullptr && item != front_) {
    strays_->erase(item);
    if (strays_->empty()) {
      strays_ = nullptr;
    }
    return;
  }
  (item->prev == nullptr ? front_ : item->prev->next) = item->next;
  (item->next == nullptr ? back_ : item->next->prev) = item->prev;
  item->prev = nullptr;
  item->next = nullptr;
}

bool ItemList::ForEach(const std::function<bool(const Item&)>& visit) const {
  Walk walk(*this);
  for (const Item* item = walk.Next(); item != nullptr; item = walk.Next()) {
    if (!visit(*item)) {
      return false;
    }
  }
  return true;
}

const Item* ItemList::Walk::Next() {
  if (stray_ != end_ && (listed_ == nullptr || IsOlder()(*stray_, listed_))) {
    return *stray_++;
  }
  const Item* const next = listed_;
  listed_ = next == nullptr ? nullptr : next->next;
  return next;
}

}  // namespace wq

#include "engine/order/item_list.h"

#include <utility>

#include "base/mutant.h"

namespace wq {

void ItemList::PushBack(Item* item) {
  item->prev = back_;
  item->next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = item;
  back_ = item;
  ++size_;
}

void ItemList::PutBack(Item* item) {
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
  if (IsStray(*item)) {
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

const Item* ItemList::Walk::Next() {
  if (stray_ != nullptr && (listed_ == nullptr || IsOlder()(stray_, listed_))) {
    return std::exchange(stray_, StrayBehind(*stray_));
  }
  return listed_ == nullptr ? nullptr : std::exchange(listed_, listed_->next);
}

bool ItemList::Walk::GoBehind(const Item& item) {
  if (items_->IsStray(item)) {
    return false;
  }
  listed_ = item.next;
  stray_ = StrayBehind(item);
  return true;
}

void ItemList::Walk::Leave(const Item& item) {
  if (&item == listed_) {
    listed_ = item.next;
  } else if (&item == stray_) {
    stray_ = StrayBehind(item);
  }
}

const Item* ItemList::Walk::StrayBehind(const Item& item) const {
  if (items_->strays_ == nullptr) {
    return nullptr;
  }
  const auto behind = items_->strays_->upper_bound(&item);
  return behind == items_->strays_->end() ? nullptr : *behind;
}

}  // namespace wq

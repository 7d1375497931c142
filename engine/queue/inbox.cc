#include "engine/queue/inbox.h"

namespace wq {

InboxAdd InboxAdds::operator[](size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1].end;
  return {.key = std::string_view(keys_).substr(begin, ends_[i].end - begin),
          .lane = ends_[i].lane,
          .wall_us = ends_[i].wall_us};
}

void InboxAdds::Append(const InboxAdd& add) {
  keys_.append(add.key);
  ends_.push_back({.end = keys_.size(), .lane = add.lane, .wall_us = add.wall_us});
}

void InboxAdds::Clear() {
  keys_.clear();
  ends_.clear();
}

void InboxAdds::Swap(InboxAdds& other) noexcept {
  keys_.swap(other.keys_);
  ends_.swap(other.ends_);
}

bool Inbox::Offer(const InboxAdd& add) {
  const MutexLock lock(mu_);
  if (!open_ || adds_.size() == kMaxAdds || adds_.key_bytes() + add.key.size() > kMaxKeyBytes) {
    return false;
  }
  adds_.Append(add);
  if (adds_.size() == 1) {
    some_ = true;
  }
  return true;
}

void Inbox::Take(InboxAdds* adds) {
  adds->Clear();
  const MutexLock lock(mu_);
  adds_.Swap(*adds);
  some_ = false;
}

void Inbox::Open() {
  const MutexLock lock(mu_);
  open_ = true;
}

void Inbox::Shut() {
  const MutexLock lock(mu_);
  open_ = false;
}

}  // namespace wq

#include "server/browse/search_turns.h"

namespace wq {

SearchTurn::SearchTurn(SearchTurns* turns) : turns_(turns) {
  if (turns_ == nullptr) {
    return;
  }
  const MutexLock lock(turns_->mu_);
  if (turns_->taken_ && turns_->waiting_ >= SearchTurns::kMaxWaiting) {
    status_ = Status::TimedOut("too many searches are waiting; try again");
    return;
  }
  ++turns_->waiting_;
  while (turns_->taken_) {
    turns_->changed_.Wait(turns_->mu_);
  }
  --turns_->waiting_;
  turns_->taken_ = true;
}

SearchTurn::~SearchTurn() {
  if (turns_ == nullptr || !status_.ok()) {
    return;
  }
  const MutexLock lock(turns_->mu_);
  turns_->taken_ = false;
  turns_->changed_.NotifyOne();
}

}  // namespace wq

#include "server/browse/search_turns.h"

#include <chrono>

namespace wq {
namespace {

// A caller that waits is asked so often whether it is gone: those that are take no place.
constexpr auto kAskPause = std::chrono::milliseconds(20);

}  // namespace

SearchTurn::SearchTurn(SearchTurns* turns, const Caller& caller) : turns_(turns) {
  if (turns_ == nullptr) {
    return;
  }
  const MutexLock lock(turns_->mu_);
  if (turns_->taken_ && turns_->waiting_ >= SearchTurns::kMaxWaiting) {
    status_ = Status::TimedOut("too many such calls are waiting; try again");
    return;
  }
  ++turns_->waiting_;
  bool gone = false;
  while (turns_->taken_ && !gone) {
    turns_->changed_.WaitUntil(turns_->mu_, std::chrono::steady_clock::now() + kAskPause);
    gone = caller.IsGone();
  }
  --turns_->waiting_;
  if (gone) {
    status_ = ClientIsGone();
    turns_->changed_.NotifyOne();  // This one may have been notified for another.
    return;
  }
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

#include "server/work/token_source.h"

#include <string>

#include "base/mutant.h"
#include "wq/store.h"

namespace wq {
namespace {

constexpr uint64_t kBlock = uint64_t{1} << 32;

}  // namespace

Status TokenSource::Prepare() {
  const MutexLock lock(mu_);
  return Reserve(Epoch(), 1);
}

uint64_t TokenSource::Epoch() const { return store_->Epoch(); }

Status TokenSource::Take(uint64_t epoch, uint64_t count, uint64_t* first) {
  const MutexLock lock(mu_);
  if (Status s = Reserve(epoch, count); !s.ok()) {
    return s;
  }
  *first = next_;
  next_ += count;
  return {};
}

Status TokenSource::Reserve(uint64_t epoch, uint64_t count) {
  if (epoch_ == epoch && end_ - next_ >= count) {
    return {};
  }
  const bool present = Epoch() == epoch;
  uint64_t first = 0;
  if (Status s = store_->ReserveTokens(kBlock, &first); !s.ok()) {
    return s;
  }
  // Epochs only grow: the same one before and after the reservation is that of the reservation.
  if (!present || Epoch() != epoch) {
    return Status::NotOwner("the ownership of the epoch " + std::to_string(epoch) + " has ended");
  }
  epoch_ = epoch;
  next_ = WQ_MUTANT(tokens_restart_at_one) ? 1 : first;
  end_ = next_ + kBlock;
  return {};
}

}  // namespace wq

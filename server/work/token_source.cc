#include "server/work/token_source.h"

#include "base/mutant.h"
#include "wq/store.h"

namespace wq {
namespace {

constexpr uint64_t kBlock = uint64_t{1} << 32;

}  // namespace

Status TokenSource::Prepare() {
  const MutexLock lock(mu_);
  return Reserve(1);
}

Status TokenSource::Take(uint64_t count, uint64_t* first) {
  const MutexLock lock(mu_);
  if (Status s = Reserve(count); !s.ok()) {
    return s;
  }
  *first = next_;
  next_ += count;
  return {};
}

Status TokenSource::Reserve(uint64_t count) {
  if (end_ - next_ >= count) {
    return {};
  }
  uint64_t first = 0;
  if (Status s = store_->ReserveTokens(kBlock, &first); !s.ok()) {
    return s;
  }
  next_ = WQ_MUTANT(tokens_restart_at_one) ? 1 : first;
  end_ = next_ + kBlock;
  return {};
}

}  // namespace wq

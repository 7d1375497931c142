#include "bindings/c/boundary/limiter.h"

#include <string>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"

namespace wq::c {
namespace {

using std::chrono::microseconds;

constexpr size_t kMaxLimiters = 64;
constexpr int kMaxDepth = 8;

// The delay of the call if it has one, else that of another limiter.
class DelayOfCall final : public Limiter {
 public:
  explicit DelayOfCall(std::shared_ptr<Limiter> inner) : inner_(std::move(inner)) {}

  microseconds When(std::string_view key, uint64_t failures, Time now) override {
    const int64_t* const delay_us = ThisThread().retry_delay_us;
    return delay_us != nullptr && !WQ_MUTANT(delay_of_call_is_ignored)
               ? microseconds(*delay_us)
               : inner_->When(key, failures, now);
  }
  void Forget(std::string_view key) override { inner_->Forget(key); }
  std::string SaveState(Time now) const override { return inner_->SaveState(now); }
  void RestoreState(std::string_view state, Time now) override { inner_->RestoreState(state, now); }

 private:
  const std::shared_ptr<Limiter> inner_;
};

std::shared_ptr<Limiter> DefaultLimiter() {
  return std::make_shared<ItemExponentialFailure>(std::chrono::milliseconds(5),
                                                  std::chrono::seconds(1000));
}

Status Build(const wq_limiter* tree, int depth, std::shared_ptr<Limiter>* limiter);

// The limiters below `node`.
Status BuildInner(const wq_limiter& node, int depth, std::vector<std::shared_ptr<Limiter>>* inner) {
  if (node.limiters == nullptr || node.limiter_count == 0 || node.limiter_count > kMaxLimiters) {
    return Status::InvalidArgument("a limiter has no inner limiters, or more than " +
                                   std::to_string(kMaxLimiters));
  }
  if (depth == kMaxDepth) {
    return Status::InvalidArgument("limiters are more than " + std::to_string(kMaxDepth) + " deep");
  }
  for (size_t i = 0; i < node.limiter_count; ++i) {
    if (Status s = Build(node.limiters[i], depth + 1, &inner->emplace_back()); !s.ok()) {
      return s;
    }
  }
  return {};
}

Status BuildOfInner(const wq_limiter& node, int depth, std::shared_ptr<Limiter>* limiter) {
  std::vector<std::shared_ptr<Limiter>> inner;
  if (Status s = BuildInner(node, depth, &inner); !s.ok()) {
    return s;
  }
  if (node.kind == WQ_LIMITER_MAX_OF) {
    *limiter = std::make_shared<MaxOf>(std::move(inner));
    return {};
  }
  if (inner.size() != 1) {
    return Status::InvalidArgument("WQ_LIMITER_MAX_WAIT is of one limiter");
  }
  *limiter = std::make_shared<WithMaxWait>(inner.front(), microseconds(node.max_us));
  return {};
}

Status Build(const wq_limiter* tree, int depth, std::shared_ptr<Limiter>* limiter) {
  if (tree == nullptr) {
    return NullArgument("a limiter");
  }
  wq_limiter node;
  if (Status s = ReadSized("limiter", tree, &node); !s.ok()) {
    return s;
  }
  switch (node.kind) {
    case WQ_LIMITER_DEFAULT:
      *limiter = DefaultLimiter();
      return {};
    case WQ_LIMITER_ITEM_EXPONENTIAL:
      *limiter = std::make_shared<ItemExponentialFailure>(microseconds(node.base_us),
                                                          microseconds(node.max_us));
      return {};
    case WQ_LIMITER_ITEM_FAST_SLOW:
      *limiter = std::make_shared<ItemFastSlow>(microseconds(node.base_us),
                                                microseconds(node.max_us), node.max_fast_attempts);
      return {};
    case WQ_LIMITER_BUCKET:
      *limiter = std::make_shared<Bucket>(node.rate, node.burst);
      return {};
    case WQ_LIMITER_MAX_OF:
    case WQ_LIMITER_MAX_WAIT:
      return BuildOfInner(node, depth, limiter);
    case WQ_LIMITER_CONTROLLER:
      *limiter = DefaultControllerLimiter();
      return {};
    default:
      return Status::InvalidArgument("limiter.kind is " + std::to_string(node.kind));
  }
}

}  // namespace

Status MakeLimiter(const wq_limiter* options, std::shared_ptr<Limiter>* limiter) {
  if (options == nullptr) {
    // One for all queues, as it knows no keys. Never destroyed, as threads may outlive main.
    static const auto* const shared =
        new std::shared_ptr<Limiter>(std::make_shared<DelayOfCall>(DefaultLimiter()));
    *limiter = *shared;
    return {};
  }
  std::shared_ptr<Limiter> inner;
  if (Status s = Build(options, 0, &inner); !s.ok()) {
    return s;
  }
  *limiter = std::make_shared<DelayOfCall>(std::move(inner));
  return {};
}

}  // namespace wq::c

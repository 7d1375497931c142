#include "bindings/c/boundary/observer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/c/boundary/call.h"

namespace wq::c {

static_assert(WQ_RECONCILE_SUCCESS == static_cast<int32_t>(ReconcileOutcome::kSuccess));
static_assert(WQ_RECONCILE_ERROR == static_cast<int32_t>(ReconcileOutcome::kError));
static_assert(WQ_RECONCILE_REQUEUE == static_cast<int32_t>(ReconcileOutcome::kRequeue));
static_assert(WQ_RECONCILE_REQUEUE_AFTER == static_cast<int32_t>(ReconcileOutcome::kRequeueAfter));

Status CallbackObserver::Make(const wq_controller_options& options,
                              std::shared_ptr<MetricsProvider> provider,
                              std::unique_ptr<CallbackObserver>* made) {
  std::unique_ptr<ControllerMetrics> metrics;
  if (options.metrics_name != nullptr) {
    if (provider == nullptr) {
      return Status::InvalidArgument("options.metrics_name, but the store has no metrics");
    }
    metrics = std::make_unique<ControllerMetrics>(std::move(provider), options.metrics_name,
                                                  std::max<uint32_t>(options.workers, 1));
  }
  *made = std::make_unique<CallbackObserver>(options, std::move(metrics));
  return {};
}

void CallbackObserver::OnBegin(std::string_view key) noexcept {
  if (metrics_ != nullptr) {
    metrics_->OnBegin(key);
  }
  if (begin_ != nullptr) {
    const CallbackScope scope;
    begin_(arg_, key.data(), key.size());
  }
}

void CallbackObserver::OnEnd(const Reconciled& reconciled) noexcept {
  if (metrics_ != nullptr) {
    metrics_->OnEnd(reconciled);
  }
  if (end_ == nullptr) {
    return;
  }
  const wq_reconciled shown{.size = sizeof shown,
                            .key = reconciled.key.data(),
                            .key_size = reconciled.key.size(),
                            .outcome = static_cast<int32_t>(reconciled.outcome),
                            .failure = reconciled.error.data(),
                            .failure_size = reconciled.error.size(),
                            .terminal = reconciled.terminal ? 1 : 0,
                            .exception = reconciled.exception ? 1 : 0,
                            .timed_out = reconciled.timed_out ? 1 : 0,
                            .left = reconciled.left ? 1 : 0,
                            .duration_ns = reconciled.duration.count()};
  const CallbackScope scope;
  end_(arg_, &shown);
}

}  // namespace wq::c

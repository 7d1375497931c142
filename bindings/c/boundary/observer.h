// CallbackObserver: a ControllerObserver that calls the functions of wq_controller_options, and
// counts the controller's metrics. Thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "wq/c/controller.h"
#include "wq/controller.h"
#include "wq/controller_metrics.h"
#include "wq/metrics.h"
#include "wq/status.h"

namespace wq::c {

class CallbackObserver final : public ControllerObserver {
 public:
  // `provider` is that of the store; may be null. InvalidArgument: metrics without a provider.
  static Status Make(const wq_controller_options& options,
                     std::shared_ptr<MetricsProvider> provider,
                     std::unique_ptr<CallbackObserver>* made);
  CallbackObserver(const wq_controller_options& options, std::unique_ptr<ControllerMetrics> metrics)
      : begin_(options.begin),
        end_(options.end),
        arg_(options.observer_arg),
        metrics_(std::move(metrics)) {}

  void OnBegin(std::string_view key) noexcept override;
  void OnEnd(const Reconciled& reconciled) noexcept override;

 private:
  void (*const begin_)(void* arg, const char* key, size_t key_size);  // May be null.
  void (*const end_)(void* arg, const wq_reconciled* reconciled);     // May be null.
  void* const arg_;
  const std::unique_ptr<ControllerMetrics> metrics_;  // May be null.
};

}  // namespace wq::c

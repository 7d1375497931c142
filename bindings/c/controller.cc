// The C interface: controllers.

#include "bindings/c/controller.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/observer.h"
#include "bindings/c/boundary/options.h"
#include "wq/controller.h"
#include "wq/wq.h"

namespace {

using wq::Result;
using wq::Status;
using wq::c::Call;
using wq::c::CallbackObserver;
using wq::c::ControllerObject;
using wq::c::Pinned;
using wq::c::QueueObject;
using wq::c::StoreObject;

Result ToResult(const wq_reconcile_result& result) {
  const size_t size = ::strnlen(result.failure, sizeof result.failure);
  Status failure = wq::c::MakeStatus(WQ_INTERNAL, std::string(result.failure, size));
  switch (result.kind) {
    case WQ_RECONCILE_SUCCESS:
      return {};
    case WQ_RECONCILE_ERROR:
      return failure;
    case WQ_RECONCILE_REQUEUE:
      return Result::Requeue();
    case WQ_RECONCILE_REQUEUE_AFTER:
      return Result::RequeueAfter(std::chrono::microseconds(result.after_us));
    case WQ_RECONCILE_TERMINAL_ERROR:
      return Result::TerminalError(std::move(failure));
    case WQ_RECONCILE_INTERRUPTED:
      return Status::ShuttingDown("interrupted");
    default:
      return Status::InvalidArgument("result.kind is " + std::to_string(result.kind));
  }
}

wq::Reconciler ToReconciler(const wq_controller_options& options, wq_queue queue) {
  return [reconcile = options.reconcile, arg = options.arg,
          queue](const wq::ReconcileContext& context) {
    const wq_reconcile call{.size = sizeof call,
                            .queue = queue,
                            .key = context.key().data(),
                            .key_size = context.key().size(),
                            .stop = &context.stop_token()};
    wq_reconcile_result result{};
    result.size = sizeof result;
    {
      const wq::c::CallbackScope scope;
      reconcile(arg, &call, &result);
    }
    return ToResult(result);
  };
}

wq::ControllerOptions ToControllerOptions(const wq_controller_options& in) {
  wq::ControllerOptions out;
  out.max_concurrent_reconciles = std::max<uint32_t>(in.workers, 1);
  out.reconcile_timeout = std::chrono::microseconds(in.reconcile_timeout_us);
  out.terminal_errors = in.drop_terminal_errors != 0 ? wq::TerminalErrorPolicy::kDrop
                                                     : wq::TerminalErrorPolicy::kQuarantine;
  return out;
}

// Ends one controller. False: no such handle, or another thread is ending the controller. Blocks:
// until its calls and its reconciles have returned. REQUIRES: `store` is its store, and lives
// during the call.
bool EndController(StoreObject* store, uint64_t handle) {
  {
    const Pinned<ControllerObject> pinned(handle);
    if (pinned.get() != nullptr) {  // Makes its blocked calls return.
      static_cast<void>(pinned.get()->controller->Stop(std::chrono::microseconds(0)));
    }
  }
  const auto object = wq::c::RetireAndWait<ControllerObject>(handle);
  if (object == nullptr) {
    return false;
  }
  store->controllers.Erase(handle);
  return true;
}

}  // namespace

namespace wq::c {

void EndControllers(StoreObject* store) {
  for (const uint64_t handle : store->controllers.All()) {
    EndController(store, handle);
  }
}

}  // namespace wq::c

extern "C" {

wq_code wq_controller_start(wq_queue queue, const wq_controller_options* options,
                            wq_controller* controller, wq_error* error) {
  return Call<QueueObject>(queue.handle, error, [&](QueueObject& q) -> Status {
    if (controller == nullptr || options == nullptr) {
      return wq::c::NullArgument("options or controller");
    }
    *controller = WQ_NO_CONTROLLER;
    wq_controller_options own;
    if (Status s = wq::c::ReadSized("options", options, &own); !s.ok()) {
      return s;
    }
    if (own.reconcile == nullptr) {
      return wq::c::NullArgument("options.reconcile");
    }
    auto object = std::make_unique<ControllerObject>();
    object->store = q.store;
    if (Status s = CallbackObserver::Make(own, q.store->metrics, &object->observer); !s.ok()) {
      return s;
    }
    wq::ControllerOptions controller_options = ToControllerOptions(own);
    controller_options.observer = object->observer.get();
    object->controller =
        std::make_unique<wq::Controller>(q.queue, ToReconciler(own, queue), controller_options);
    if (Status s = object->controller->Start(); !s.ok()) {
      return s;
    }
    controller->handle = q.store->controllers.Insert(object);
    return {};
  });
}

int32_t wq_reconcile_stopping(const wq_reconcile* call) {
  return call != nullptr && static_cast<const std::stop_token*>(call->stop)->stop_requested() ? 1
                                                                                              : 0;
}

wq_code wq_controller_drain(wq_controller controller, int64_t timeout_us, wq_error* error) {
  return Call<ControllerObject>(controller.handle, error, [&](ControllerObject& c) {
    return c.controller->Drain(wq::c::ToTimeout(timeout_us));
  });
}

wq_code wq_controller_stop(wq_controller controller, int64_t grace_us, wq_error* error) {
  return Call<ControllerObject>(controller.handle, error, [&](ControllerObject& c) {
    return c.controller->Stop(wq::c::ToTimeout(grace_us));
  });
}

wq_code wq_controller_free(wq_controller controller, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (Status s = wq::c::NotInCallback("wq_controller_free"); !s.ok()) {
      return s;
    }
    // If another thread frees the store, wq_store_free ends the controller.
    return wq::c::WithStoreOf<ControllerObject>(
        controller.handle, [controller](StoreObject& store) {
          return EndController(&store, controller.handle)
                     ? Status::Ok()
                     : wq::c::BadHandle(ControllerObject::kKind, controller.handle);
        });
  });
}

wq_code wq_controller_counts(wq_controller controller, wq_reconcile_counts* counts,
                             wq_error* error) {
  return Call<ControllerObject>(controller.handle, error, [&](ControllerObject& c) {
    const wq::ControllerCounters now = c.controller->Counters();
    const wq_reconcile_counts out{.size = 0,
                                  .success = now.success,
                                  .error = now.error,
                                  .requeue = now.requeue,
                                  .requeue_after = now.requeue_after,
                                  .terminal_errors = now.terminal_errors,
                                  .timeouts = now.timeouts,
                                  .left = now.left,
                                  .queue_errors = now.queue_errors,
                                  .active_workers = now.active_workers,
                                  .exceptions = now.exceptions};
    return wq::c::Output("counts", out, counts);
  });
}

wq_code wq_controller_health(wq_controller controller, wq_error* error) {
  return Call<ControllerObject>(controller.handle, error,
                                [](ControllerObject& c) { return c.controller->Health(); });
}

}  // extern "C"

#include "bindings/c/boundary/options.h"

#include <algorithm>
#include <array>
#include <string>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/limiter.h"
#include "bindings/c/boundary/replicated_log.h"

namespace wq::c {
namespace {

constexpr size_t kMaxLanes = size_t{1} << 20;

// 0 leaves the default.
template <typename In, typename Out>
void SetUnlessZero(In in, Out* out) {
  if (in != 0) {
    *out = static_cast<Out>(in);
  }
}

// InvalidArgument: `in` is not 0 to `last`.
template <typename Enum>
Status ToEnum(const char* what, int32_t in, Enum last, Enum* out) {
  if (in < 0 || in > static_cast<int32_t>(last)) {
    return Status::InvalidArgument(std::string(what) + " is " + std::to_string(in));
  }
  *out = static_cast<Enum>(in);
  return {};
}

Status ToLanes(const wq_queue_options& in, QueueOptions* out) {
  if (in.lane_count > 0 && in.lanes == nullptr) {
    return NullArgument("options.lanes");
  }
  if (in.lane_count > kMaxLanes) {
    return Status::InvalidArgument("options.lane_count is " + std::to_string(in.lane_count));
  }
  out->lanes.assign(in.lanes, in.lanes + in.lane_count);
  return {};
}

Status ToEnums(const wq_queue_options& in, QueueOptions* out) {
  std::optional<Durability> durability;
  Status s = FirstError({ToEnum("options.order", in.order, Order::kFair, &out->order),
                         ToEnum("options.re_add", in.re_add, ReAdd::kRaisesLane, &out->re_add),
                         ToEnum("options.quarantined_add", in.quarantined_add,
                                QuarantinedAdd::kRelease, &out->quarantined_add),
                         ToDurability(in.durability, &durability)});
  out->durability = durability.value_or(out->durability);
  return s;
}

// NULL: none. InvalidArgument, with the name `what`: a size that is wrong.
Status ToLimits(const char* what, const wq_group_limits* in, GroupLimits* out) {
  wq_group_limits limits;
  if (Status s = ReadSized(what, in, &limits); !s.ok()) {
    return s;
  }
  out->max_processing = limits.max_processing;
  out->rate = {.per_second = limits.per_second, .burst = limits.burst == 0 ? 1 : limits.burst};
  return {};
}

Status ToFlow(const wq_queue_options& in, QueueOptions* out) {
  out->debounce = {std::chrono::microseconds(in.debounce_quiet_us),
                   std::chrono::microseconds(in.debounce_max_wait_us)};
  out->max_pending = in.max_pending;
  out->stuck_after = std::chrono::microseconds(in.stuck_after_us);
  out->resync = {std::chrono::microseconds(in.resync_period_us), in.resync_jitter};
  return FirstError(
      {ToLimits("options.group_limits", in.group_limits, &out->group_limits),
       ToLimits("options.limits", in.limits, &out->limits),
       ToEnum("options.when_full", in.when_full, WhenFull::kRefuse, &out->when_full)});
}

Status ToReplication(const wq_replication* in, std::optional<Replication>* out) {
  if (in == nullptr) {
    return {};
  }
  wq_replication options;
  if (Status s = ReadSized("options.replication", in, &options); !s.ok()) {
    return s;
  }
  if (Status s = FirstError({NotNull("options.replication.log", options.log),
                             NotNull("options.replication.name", options.name)});
      !s.ok()) {
    return s;
  }
  Replication& replication = out->emplace();
  replication.log = options.log->log;
  replication.name = options.name;
  SetUnlessZero(options.lease_ms, &replication.lease);
  SetUnlessZero(options.lease_margin_ms, &replication.lease_margin);
  SetUnlessZero(options.write_timeout_ms, &replication.write_timeout);
  SetUnlessZero(options.max_log_bytes, &replication.max_log_bytes);
  replication.candidate = options.never_owner == 0;
  if (options.leadership != nullptr) {
    replication.on_leadership = [leadership = options.leadership,
                                 arg = options.leadership_arg](const Leadership& change) {
      const wq_leadership reported = {.size = sizeof reported,
                                      .owner = change.owner ? 1 : 0,
                                      .epoch = change.epoch,
                                      .why = change.why.c_str()};
      const CallbackScope scope;
      leadership(arg, &reported);
    };
  }
  return {};
}

}  // namespace

Status ToStoreOptions(const wq_store_options* in, StoreOptions* out,
                      std::shared_ptr<TextMetrics>* metrics,
                      std::unique_ptr<CallbackClock>* clock) {
  wq_store_options options;
  if (Status s = ReadSized("options", in, &options); !s.ok()) {
    return s;
  }
  out->create_if_missing = options.create_if_missing != 0;
  out->error_if_exists = options.error_if_exists != 0;
  SetUnlessZero(options.flush_interval_ms, &out->flush_interval);
  SetUnlessZero(options.recovery_backoff_min_ms, &out->recovery_backoff_min);
  SetUnlessZero(options.recovery_backoff_max_ms, &out->recovery_backoff_max);
  if (options.health != nullptr) {
    out->on_health = [health = options.health, arg = options.health_arg](const Status& status) {
      const CallbackScope scope;
      health(arg, static_cast<wq_code>(status.code()), status.message().c_str());
    };
  }
  SetUnlessZero(options.max_wal_bytes, &out->max_wal_bytes);
  SetUnlessZero(options.write_buffer_bytes, &out->write_buffer_bytes);
  SetUnlessZero(options.max_batch_bytes, &out->max_batch_bytes);
  SetUnlessZero(options.process_log_bytes, &out->process_log_bytes);
  if (options.no_process_log != 0) {
    out->process_log_bytes = 0;
  }
  *metrics = options.metrics != 0 ? std::make_shared<TextMetrics>() : nullptr;
  out->metrics = *metrics;
  Status s = FirstError({ToReplication(options.replication, &out->replication),
                         CallbackClock::Make(options.clock, clock)});
  out->clock = clock->get();
  return s;
}

Status ToQueueOptions(const wq_queue_options* in, QueueOptions* out) {
  wq_queue_options options;
  if (Status s = ReadSized("options", in, &options); !s.ok()) {
    return s;
  }
  out->create_if_missing = options.must_exist == 0;
  out->starvation_bound = options.starvation_bound;
  out->shards = options.shards;
  out->max_requeues = options.max_requeues;
  out->merge_delays = options.merge_delays != 0;
  SetUnlessZero(options.max_key_bytes, &out->max_key_bytes);
  if (options.group_of != nullptr) {
    out->group_of = [group_of = options.group_of, arg = options.group_arg](std::string_view key) {
      std::array<char, kMaxGroupBytes> group{};
      const CallbackScope scope;
      const size_t size = group_of(arg, key.data(), key.size(), group.data(), group.size());
      return std::string(group.data(), std::min(size, group.size()));
    };
  }
  return FirstError({ToLanes(options, out), ToEnums(options, out), ToFlow(options, out),
                     MakeLimiter(options.limiter, &out->limiter)});
}

Status ToDurability(int32_t in, std::optional<Durability>* out) {
  out->reset();
  if (in == WQ_DEFAULT_DURABILITY) {
    return {};
  }
  if (in < WQ_ASYNC || in > WQ_REPLICATED) {
    return Status::InvalidArgument("durability is " + std::to_string(in));
  }
  *out = static_cast<Durability>(in - WQ_ASYNC);
  return {};
}

Status ToAddOptions(const wq_add_options* in, CallOptions* out) {
  if (in == nullptr) {
    return {};
  }
  wq_add_options options;
  if (Status s = ReadSized("options", in, &options); !s.ok()) {
    return s;
  }
  if (options.has_lane != 0) {
    out->options.lane = options.lane;
  }
  if (Status s = ToDurability(options.durability, &out->options.durability); !s.ok()) {
    return s;
  }
  if (options.has_retry_delay != 0) {
    out->retry_delay_us = options.retry_delay_us;
  }
  if (options.has_max_delay != 0) {
    out->options.max_delay = std::chrono::microseconds(options.max_delay_us);
  }
  if (options.group != nullptr) {
    out->options.group = std::string_view(options.group, options.group_size);
  }
  if (options.reason != nullptr) {
    out->options.reason = std::string_view(options.reason, options.reason_size);
  }
  if (options.trace_parent != nullptr) {
    out->options.trace_parent = std::string_view(options.trace_parent, options.trace_parent_size);
  }
  if (options.has_debounce != 0) {
    out->options.debounce = Debounce{std::chrono::microseconds(options.debounce_quiet_us),
                                     std::chrono::microseconds(options.debounce_max_wait_us)};
  }
  if (options.has_wait_for_room != 0) {
    out->options.wait_for_room = std::chrono::microseconds(options.wait_for_room_us);
  }
  out->options.if_absent = options.if_absent != 0;
  return ToEnum("options.delay_mode", options.delay_mode, DelayMode::kResync,
                &out->options.delay_mode);
}

std::chrono::microseconds ToTimeout(int64_t timeout_us) {
  return timeout_us < 0 ? kMaxDelay : std::chrono::microseconds(timeout_us);
}

}  // namespace wq::c

// The C interface: calls that add keys to a queue.

#include "base/mutant.h"
#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/options.h"
#include "bindings/c/queue_call.h"
#include "wq/internal/queue_calls.h"
#include "wq/wq.h"

namespace {

using wq::AddOutcome;
using wq::Status;
using wq::c::CallOptions;
using wq::c::KeyCall;
using wq::c::QueueCall;

static_assert(WQ_ADDED == static_cast<int32_t>(AddOutcome::kAdded));
static_assert(WQ_DEDUPLICATED == static_cast<int32_t>(AddOutcome::kDeduplicated));
static_assert(WQ_HELD == static_cast<int32_t>(AddOutcome::kHeld));

// `add(queue, key, options, outcome)` adds the key. `outcome` is written if the Add was applied.
template <typename Add>
wq_code AddCall(wq_queue queue, const char* key, size_t key_size, const wq_add_options* options,
                int32_t* outcome, wq_error* error, const Add& add) noexcept {
  return KeyCall(queue, key, key_size, error, [&](wq::Queue& q, std::string_view k) -> Status {
    CallOptions call;
    if (Status s = wq::c::ToAddOptions(options, &call); !s.ok()) {
      return s;
    }
    AddOutcome did = AddOutcome::kAdded;
    // Without a pointer for the outcome the call is faster: see Queue::Add.
    Status status = add(q, k, call, outcome == nullptr ? nullptr : &did);
    if (outcome != nullptr && IsApplied(status)) {
      *outcome = static_cast<int32_t>(did);
    }
    return status;
  });
}

// Passes the delay of a call to the limiter that the call uses. See MakeLimiter.
class RetryDelayScope {
 public:
  explicit RetryDelayScope(const std::optional<int64_t>& delay_us)
      : before_(wq::c::ThisThread().retry_delay_us) {
    wq::c::ThisThread().retry_delay_us = delay_us.has_value() ? &*delay_us : nullptr;
  }
  ~RetryDelayScope() { wq::c::ThisThread().retry_delay_us = before_; }
  RetryDelayScope(const RetryDelayScope&) = delete;
  RetryDelayScope& operator=(const RetryDelayScope&) = delete;

 private:
  const int64_t* const before_;
};

void WriteResult(const wq::BatchResult& result, wq_batch_result* out) {
  for (size_t i = 0; i < result.refused.size() && i < out->refused_capacity; ++i) {
    const auto& [index, status] = result.refused[i];
    out->refused_keys[i] = {.index = index, .code = static_cast<wq_code>(status.code())};
  }
  const wq_batch_result written{.size = 0,
                                .added = result.added,
                                .deduplicated = result.deduplicated,
                                .held = result.held,
                                .refused = WQ_MUTANT(refused_count_is_capacity)
                                               ? out->refused_capacity
                                               : result.refused.size(),
                                .refused_keys = out->refused_keys,
                                .refused_capacity = out->refused_capacity};
  wq::c::WriteSized(written, out);
}

Status CheckResult(const wq_batch_result* result) {
  if (result == nullptr) {
    return {};
  }
  if (result->size < sizeof *result) {
    return Status::InvalidArgument("result.size is " + std::to_string(result->size) +
                                   ", not the struct's size");
  }
  return result->refused_capacity > 0 ? wq::c::NotNull("result.refused_keys", result->refused_keys)
                                      : Status::Ok();
}

}  // namespace

extern "C" {

wq_code wq_queue_add(wq_queue queue, const char* key, size_t key_size,
                     const wq_add_options* options, int32_t* outcome, wq_error* error) {
  return AddCall(queue, key, key_size, options, outcome, error,
                 [](wq::Queue& q, std::string_view k, const CallOptions& call, AddOutcome* did) {
                   return q.Add(k, call.options, did);
                 });
}

wq_code wq_queue_add_after(wq_queue queue, const char* key, size_t key_size, int64_t delay_us,
                           const wq_add_options* options, int32_t* outcome, wq_error* error) {
  return AddCall(
      queue, key, key_size, options, outcome, error,
      [delay_us](wq::Queue& q, std::string_view k, const CallOptions& call, AddOutcome* did) {
        return q.AddAfter(k, std::chrono::microseconds(delay_us), call.options, did);
      });
}

wq_code wq_queue_add_rate_limited(wq_queue queue, const char* key, size_t key_size,
                                  const char* failure, size_t failure_size,
                                  const wq_add_options* options, int32_t* outcome,
                                  wq_error* error) {
  return AddCall(
      queue, key, key_size, options, outcome, error,
      [&](wq::Queue& q, std::string_view k, const CallOptions& call, AddOutcome* did) -> Status {
        if (Status s = wq::c::CheckInput("failure", failure, failure_size); !s.ok()) {
          return s;
        }
        const RetryDelayScope scope(call.retry_delay_us);
        return q.AddRateLimited(k, {failure, failure_size}, call.options, did);
      });
}

wq_code wq_queue_add_batch(wq_queue queue, const char* list, size_t list_size,
                           const wq_add_options* options, wq_batch_result* result,
                           wq_error* error) {
  return QueueCall(queue, error, [&](wq::Queue& q) -> Status {
    CallOptions call;
    std::vector<std::string_view> keys;
    if (Status s = wq::c::FirstError({CheckResult(result), wq::c::ToAddOptions(options, &call),
                                      wq::c::ReadKeys("list", list, list_size, &keys)});
        !s.ok()) {
      return s;
    }
    wq::BatchResult did;
    Status status = q.AddBatch(keys, call.options, &did);
    if (result != nullptr) {
      WriteResult(did, result);
    }
    return status;
  });
}

}  // extern "C"

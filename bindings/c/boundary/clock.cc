#include "bindings/c/boundary/clock.h"

#include <utility>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"

namespace wq::c {

Status CallbackClock::Make(const wq_clock* clock, std::unique_ptr<CallbackClock>* made) {
  made->reset();
  if (clock == nullptr) {
    return {};
  }
  wq_clock functions;
  if (Status s = ReadSized("clock", clock, &functions); !s.ok()) {
    return s;
  }
  if (functions.steady_us == nullptr || functions.wall_us == nullptr) {
    return Status::InvalidArgument("clock lacks a function");
  }
  *made = std::make_unique<CallbackClock>(functions);
  return {};
}

int64_t CallbackClock::SteadyUs() const {
  const SecludedScope scope;
  return functions_.steady_us(functions_.arg);
}

int64_t CallbackClock::WallUs() const {
  const SecludedScope scope;
  return functions_.wall_us(functions_.arg);
}

uint64_t CallbackClock::Subscribe(std::function<void()> wake) {
  const MutexLock lock(mu_);
  wakes_.emplace(next_id_, std::move(wake));
  return next_id_++;
}

void CallbackClock::Unsubscribe(uint64_t id) {
  const MutexLock lock(mu_);
  wakes_.erase(id);
}

void CallbackClock::Changed() {
  const MutexLock lock(mu_);
  for (const auto& [_, wake] : wakes_) {
    wake();
  }
}

}  // namespace wq::c

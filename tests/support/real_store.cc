#include "tests/support/real_store.h"

#include "storage/open.h"

namespace wq::support {
RealStore::RealStore(const std::vector<QueueRules>& rules, int64_t wall_us)
    : rules_(rules), clock_({.steady_us = 0, .wall_us = wall_us}) {}

Status RealStore::Open(const std::string& dir, Durability calls_level, const Buffers& buffers) {
  StoreOptions options;
  options.create_if_missing = true;
  options.clock = &clock_;
  buffers.ApplyTo(&options);
  options.recovery_backoff_min = std::chrono::hours(1);  // A failed store recovers by Recover only.
  if (Status s = Store::Open(options, dir, &store_); !s.ok()) {
    return s;
  }
  for (const QueueRules& rules : rules_) {
    queues_.push_back(std::make_unique<model::RealQueue>(rules.options, &clock_));
    if (Status s = queues_.back()->Open(store_.get(), rules.name, calls_level); !s.ok()) {
      return s;
    }
  }
  return {};
}

std::string RealStore::Do(const StoreCall& call) {
  switch (call.call.op) {
    case Op::kAdvance:
      clock_.Advance(std::chrono::microseconds(call.call.delay_us));
      for (const auto& queue : queues_) {
        static_cast<void>(queue->queue()->Len());  // Fires due keys.
      }
      return "ok";
    default:
      return queues_[call.queue]->Do(call.call);
  }
}

void RealStore::Drop() {
  queues_.clear();
  store_.reset();
}

Status ReadStore(const std::string& dir, const std::vector<QueueRules>& rules, StoreImage* image) {
  image->assign(rules.size(), {});
  std::unique_ptr<storage::Reader> reader;
  Status s = storage::OpenReader(dir, &reader);
  if (s.code() == StatusCode::kNotFound) {
    return {};  // No store was created yet.
  }
  for (size_t i = 0; s.ok() && i < rules.size(); ++i) {
    s = model::ReadImage(*reader, rules[i].name, &(*image)[i]);
  }
  return s;
}

}  // namespace wq::support

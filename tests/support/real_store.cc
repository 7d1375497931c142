#include "tests/support/real_store.h"

#include <map>
#include <set>

#include "storage/open.h"
#include "storage/records.h"

namespace wq::support {
namespace {

// Checks that the records of one queue agree with each other.
Status CheckConsistent(const storage::Reader& reader, storage::QueueId id, const Image& image) {
  const auto wrong = [id](const std::string& what) {
    return Status::Corruption("queue " + std::to_string(id) + ": " + what);
  };
  std::set<std::string> pending;
  for (const Image::Pending& p : image.pending) {
    if (!pending.insert(p.key).second) {
      return wrong(p.key + " is pending twice");
    }
  }
  std::set<std::string> delayed;
  for (const Image::Delayed& d : image.delayed) {
    if (!delayed.insert(d.key).second) {
      return wrong(d.key + " is delayed twice");
    }
    if (image.quarantined.contains(d.key)) {
      return wrong(d.key + " is delayed and quarantined");
    }
  }
  for (const auto& [key, failures] : image.failing) {
    if (failures == 0 || image.quarantined.contains(key)) {
      return wrong(key + " fails without failures, or in quarantine");
    }
  }
  std::string buffer;
  storage::QueueStateRecord own;
  const Status s = storage::GetQueueState(reader, id, &buffer, &own);
  if (!s.ok() && s.code() != StatusCode::kNotFound) {
    return s;
  }
  Status above;
  Status scanned = storage::ScanPending(reader, id, [&](const storage::PendingRecord& r) {
    if (r.sequence >= own.sequence_high_water) {
      above = wrong(std::string(r.key) + " has a sequence above the high-water mark");
    }
    return above.ok();
  });
  return scanned.ok() ? above : scanned;
}

}  // namespace

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
  std::map<std::string, storage::QueueId> ids;
  if (s.ok()) {
    s = storage::ScanQueues(*reader, [&ids](const storage::QueueRecord& queue) {
      ids[queue.name] = queue.id;
      return true;
    });
  }
  for (size_t i = 0; s.ok() && i < rules.size(); ++i) {
    const auto found = ids.find(rules[i].name);
    if (found == ids.end()) {
      continue;
    }
    s = model::ReadImage(*reader, found->second, &(*image)[i]);
    if (s.ok()) {
      s = CheckConsistent(*reader, found->second, (*image)[i]);
    }
  }
  return s;
}

}  // namespace wq::support

#include "tools/wqctl/watch/watch_sample.h"

#include <memory>
#include <utility>

#include "tools/wqctl/cli/queues.h"
#include "wq/clock.h"

namespace wqctl {
namespace {

// The pause after a read of the disk, as a multiple of the duration of the read.
constexpr int kPausesPerRead = 9;

uint64_t PendingOf(const wq::QueueCounts& counts) { return counts.queued + counts.processing; }

}  // namespace

Sampler::Sampler(std::string store_dir, std::optional<std::string> queue, size_t top_keys)
    : store_dir_(std::move(store_dir)), queue_(std::move(queue)), top_keys_(top_keys) {}

wq::Status Sampler::Take(Sample* sample) {
  *sample = {};
  std::unique_ptr<wq::LiveStore> live;
  wq::Status s = wq::LiveStore::Connect(store_dir_, &live);
  if (s.ok()) s = TakeLive(*live, sample);
  // No owner serves the store now: the disk has the numbers, or the reason.
  if (!s.ok()) s = TakeFromDisk(sample);
  sample->wall_us = wq::Clock::System()->WallUs();
  if (s.ok() && queue_ && sample->queues.empty()) {
    return ExplainMissing(store_dir_, *queue_, NoSuchQueue(*queue_, {}));
  }
  return s;
}

wq::Status Sampler::TakeLive(const wq::LiveStore& store, Sample* sample) {
  wq::LiveInfo info;
  if (wq::Status s = store.Read(&info); !s.ok()) return s;
  const Clock::time_point now = Clock::now();
  if (wq::Status s = ReadDisk(); !s.ok()) return s;
  sample->live = true;
  sample->owner_pid = info.pid;
  sample->health = info.health;
  std::map<std::string, Totals> totals;
  for (const wq::LiveQueue& queue : info.queues) {
    if (!Wanted(queue.name)) continue;
    const wq::QueueSummary& disk = on_disk_[queue.name];
    QueueSample& item = sample->queues.emplace_back();
    item.name = queue.name;
    item.top_failing = disk.top_failing;
    Totals& total = totals[queue.name];
    if (queue.open) {
      item.pending = PendingOf(queue.counts);
      item.processing = queue.counts.processing;
      item.delayed = queue.counts.delayed;
      item.failing = queue.counts.failing;
      item.quarantined = queue.counts.quarantined;
      item.paused = queue.counts.paused;
      total.counts = queue.counts;
    } else {
      item.pending = disk.pending;
      item.delayed = disk.delayed;
      item.failing = disk.failing;
      item.quarantined = disk.quarantined;
      item.paused = disk.paused;
    }
    total.pending = item.pending;
  }
  if (totals_owner_ != info.pid) last_.clear();  // Another owner counts from 0.
  totals_owner_ = info.pid;
  SetRates(now, std::move(totals), sample);
  return wq::Status::Ok();
}

wq::Status Sampler::TakeFromDisk(Sample* sample) {
  *sample = {};
  next_disk_read_.reset();
  const Clock::time_point now = Clock::now();
  if (wq::Status s = ReadDisk(); !s.ok()) return s;
  sample->owner_pid = disk_owner_alive_ ? disk_owner_pid_ : 0;
  std::map<std::string, Totals> totals;
  for (const auto& [name, disk] : on_disk_) {
    totals[name].pending = disk.pending;
    sample->queues.push_back({.name = name,
                              .pending = disk.pending,
                              .processing = std::nullopt,
                              .delayed = disk.delayed,
                              .failing = disk.failing,
                              .quarantined = disk.quarantined,
                              .paused = disk.paused,
                              .pending_change = std::nullopt,
                              .added = std::nullopt,
                              .done = std::nullopt,
                              .failed = std::nullopt,
                              .top_failing = disk.top_failing});
  }
  if (totals_owner_ != 0) last_.clear();
  totals_owner_ = 0;
  SetRates(now, std::move(totals), sample);
  return wq::Status::Ok();
}

wq::Status Sampler::ReadDisk() {
  const Clock::time_point begin = Clock::now();
  if (next_disk_read_ && begin < *next_disk_read_) return wq::Status::Ok();
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(store_dir_, &view); !s.ok()) return s;
  std::map<std::string, wq::QueueSummary> found;
  for (const std::string& name : view->QueueNames()) {
    if (!Wanted(name)) continue;
    const wq::SummaryOptions options{.top_failing = top_keys_, .top_groups = 0};
    if (wq::Status s = view->Summarize(name, options, &found[name]); !s.ok()) return s;
  }
  on_disk_ = std::move(found);
  disk_owner_pid_ = view->info().owner_pid;
  disk_owner_alive_ = view->info().owner_alive;
  const Clock::time_point end = Clock::now();
  next_disk_read_ = end + kPausesPerRead * (end - begin);
  return wq::Status::Ok();
}

void Sampler::SetRates(Clock::time_point now, std::map<std::string, Totals> totals,
                       Sample* sample) {
  const double seconds = std::chrono::duration<double>(now - last_time_).count();
  for (QueueSample& queue : sample->queues) {
    const auto before = last_.find(queue.name);
    if (before == last_.end() || seconds <= 0) continue;
    const Totals& then = before->second;
    const Totals& total = totals[queue.name];
    const auto rate = [seconds](uint64_t to, uint64_t from) {
      return (static_cast<double>(to) - static_cast<double>(from)) / seconds;
    };
    queue.pending_change = rate(total.pending, then.pending);
    if (!total.counts || !then.counts) continue;
    queue.added = rate(total.counts->adds, then.counts->adds);
    queue.done = rate(total.counts->dones, then.counts->dones);
    queue.failed = rate(total.counts->failures, then.counts->failures);
  }
  last_ = std::move(totals);
  last_time_ = now;
}

}  // namespace wqctl

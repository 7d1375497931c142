#include "tools/wqctl/watch/watch_sample.h"

#include <memory>
#include <utility>

#include "tools/wqctl/cli/queues.h"
#include "wq/clock.h"

namespace wqctl {
namespace {

// The pause after a read of the disk, as a multiple of the duration of the read.
constexpr int kPausesPerRead = 9;

void SetCounts(const wq::QueueCounts& counts, QueueSample* sample) {
  sample->pending = counts.queued + counts.processing;
  sample->processing = counts.processing;
  sample->delayed = counts.delayed;
  sample->failing = counts.failing;
  sample->quarantined = counts.quarantined;
  sample->paused = counts.paused;
}

}  // namespace

Sampler::Sampler(std::string store_dir, std::optional<std::string> queue, size_t top_keys)
    : store_dir_(std::move(store_dir)), queue_(std::move(queue)), top_keys_(top_keys) {}

wq::Status Sampler::Take(Sample* sample) {
  std::unique_ptr<wq::LiveStore> store;
  wq::LiveInfo live;
  wq::Status s = wq::LiveStore::Connect(store_dir_, &store);
  if (s.ok()) s = store->Read(&live);
  if (s.ok()) s = Take(&live, sample);
  // No owner serves the store now: the disk has the numbers, or the reason.
  if (!s.ok()) s = Take(nullptr, sample);
  sample->wall_us = wq::Clock::System()->WallUs();
  if (s.ok() && queue_ && sample->queues.empty()) {
    return ExplainMissing(store_dir_, *queue_, NoSuchQueue(*queue_, {}));
  }
  return s;
}

wq::Status Sampler::Take(const wq::LiveInfo* live, Sample* sample) {
  *sample = {};
  if (live == nullptr) next_disk_read_.reset();
  const Clock::time_point now = Clock::now();
  if (wq::Status s = ReadDisk(); !s.ok()) return s;
  sample->live = live != nullptr;
  std::map<std::string, Totals> totals;
  if (live != nullptr) {
    sample->owner_pid = live->pid;
    sample->health = live->health;
    for (const wq::LiveQueue& queue : live->queues) {
      if (!Wanted(queue.name)) continue;
      sample->queues.push_back(OnDisk(queue.name));
      if (!queue.open) continue;
      SetCounts(queue.counts, &sample->queues.back());
      totals[queue.name].counts = queue.counts;
    }
  } else {
    sample->owner_pid = disk_owner_alive_ ? disk_owner_pid_ : 0;
    for (const auto& [name, _] : on_disk_) sample->queues.push_back(OnDisk(name));
  }
  for (const QueueSample& queue : sample->queues) totals[queue.name].pending = queue.pending;
  const int64_t counts_of = live != nullptr ? live->pid : 0;
  if (totals_owner_ != counts_of) last_.clear();  // Another owner counts from 0.
  totals_owner_ = counts_of;
  SetRates(now, std::move(totals), sample);
  return wq::Status::Ok();
}

QueueSample Sampler::OnDisk(const std::string& name) {
  const wq::QueueSummary& disk = on_disk_[name];
  QueueSample sample;
  sample.name = name;
  sample.pending = disk.pending;
  sample.delayed = disk.delayed;
  sample.failing = disk.failing;
  sample.quarantined = disk.quarantined;
  sample.paused = disk.paused;
  sample.top_failing = disk.top_failing;
  return sample;
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

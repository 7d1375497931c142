#include "server/service/overview.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "server/api/convert.h"
#include "server/service/findings.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

QueueTotals TotalsOf(const QueueCounts& counts) {
  return {
      .adds = counts.adds, .dones = counts.dones, .failures = counts.failures, .full = counts.full};
}

// 0: no key is queued.
double OldestAgeSeconds(const QueueCounts& counts, int64_t now_us) {
  const int64_t added_us = counts.oldest_added_at_us.value_or(now_us);
  return static_cast<double>(std::max<int64_t>(0, now_us - added_us)) / 1e6;
}

void AddPoint(const Point& point, v1::GetSeriesResponse* response) {
  response->add_queued(point.queued);
  response->add_processing(point.processing);
  response->add_delayed(point.delayed);
  response->add_failing(point.failing);
  response->add_quarantined(point.quarantined);
  response->add_adds(point.adds);
  response->add_dones(point.dones);
  response->add_failures(point.failures);
  response->add_oldest_age_seconds(point.oldest_age);
}

}  // namespace

Status Overview::Start() {
  if (options_.has_series) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& e) {
      return Status::IOError(std::string("no thread: ") + e.what());
    }
  }
  return {};
}

void Overview::Close() {
  {
    const MutexLock lock(mu_);
    closing_ = true;
    closed_.NotifyAll();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Overview::Run() {
  for (;;) {
    const int64_t next_us = Measure();
    const MutexLock lock(mu_);
    while (!closing_ && options_.clock->SteadyUs() < next_us) {
      const std::chrono::microseconds left(next_us - options_.clock->SteadyUs());
      closed_.WaitUntil(mu_, std::chrono::steady_clock::now() + left);
    }
    if (closing_) {
      return;
    }
  }
}

int64_t Overview::Measure() {
  const Store& store = options_.access->store();
  const Time now = options_.clock->Now();
  Series::Samples samples;
  for (const std::string& name : store.QueueNames()) {
    std::optional<QueueSample>& sample = samples[name];
    const Queue* const queue = store.FindQueue(name);
    if (queue == nullptr) {
      continue;
    }
    const QueueCounts counts = queue->Counts();
    sample = QueueSample{.queued = counts.queued,
                         .processing = counts.processing,
                         .delayed = counts.delayed,
                         .failing = counts.failing,
                         .quarantined = counts.quarantined,
                         .oldest_age_seconds = OldestAgeSeconds(counts, now.wall_us),
                         .totals = TotalsOf(counts)};
    rates_.Measure(name, now.steady_us, sample->totals);
  }
  series_.Add(now, samples);
  return now.steady_us + Series::kStepUs - now.wall_us % Series::kStepUs;
}

Status Overview::ReadSeries(const v1::GetSeriesRequest& request,
                            v1::GetSeriesResponse* response) const {
  if (!options_.has_series) {
    return Status::NotSupported("this server serves no page, and keeps no series");
  }
  const Store& store = options_.access->store();
  if (Status s = CheckQueueExists(store.QueueNames(), request.queue()); !s.ok()) {
    return s;
  }
  const Series::Reading reading = series_.Read(request.queue(), options_.clock->WallUs());
  response->set_end_us(reading.end_us);
  response->set_step_us(Series::kStepUs);
  for (const Point& point : reading.points) {
    AddPoint(point, response);
  }
  response->mutable_queue_seconds()->Add(reading.queue_seconds.begin(),
                                         reading.queue_seconds.end());
  response->mutable_work_seconds()->Add(reading.work_seconds.begin(), reading.work_seconds.end());
  return {};
}

void Overview::Read(const std::string& queue, v1::GetOverviewResponse* response) {
  const Store& store = options_.access->store();
  const Time now = options_.clock->Now();
  const std::map<std::string, uint64_t, std::less<>> workers = options_.hub->CountByQueue();
  const std::vector<std::string> names = store.QueueNames();
  rates_.Retain(names);
  for (const std::string& name : names) {
    if (!queue.empty() && name != queue) {
      continue;
    }
    v1::GetOverviewResponse::Queue* const row = response->add_queues();
    row->set_name(name);
    const Queue* const open = store.FindQueue(name);
    if (open == nullptr) {
      continue;
    }
    const QueueCounts counts = open->Counts();
    row->set_open(true);
    ToCounts(counts, open->IsShuttingDown(), row->mutable_counts());
    row->set_oldest_added_at_us(counts.oldest_added_at_us.value_or(0));
    row->set_paused_until_us(counts.paused_until_us);
    const Rates::PerSecond rates = rates_.Measure(name, now.steady_us, TotalsOf(counts));
    row->set_adds_per_second(rates.adds);
    row->set_dones_per_second(rates.dones);
    row->set_failures_per_second(rates.failures);
    row->set_full_per_second(rates.full);
    const auto connected = workers.find(name);
    row->set_workers(connected == workers.end() ? 0 : connected->second);
    row->set_shards(open->shards());
  }
  response->set_directory(ToUtf8(store.dir()));
  response->set_uuid(store.uuid());
  response->set_pid(getpid());
  ToError(store.Health(), response->mutable_health());
  response->set_now_us(now.wall_us);
  AddFindings(/*live=*/true, response);
}

}  // namespace wq

#include "server/view/stored_store.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "server/api/convert.h"
#include "server/api/store_access.h"
#include "server/service/findings.h"
#include "server/service/overview.h"
#include "wq/entry.h"
#include "wq/queue_summary.h"
#include "wq/store_view.h"

namespace wq {
namespace {

// Adds what the entry says to what other entries of its key have said. The bytes are the entry's.
void Join(const Entry& entry, KeyInfo* info) {
  const bool first = info->key.empty();
  info->key = entry.key;
  switch (entry.state) {
    case EntryState::kPending:
      info->queued = true;
      info->added_at_us = entry.added_at_us;
      break;
    case EntryState::kDelayed:
      info->delayed = true;
      info->ready_at_us = entry.ready_at_us;
      info->delay_us = entry.delay_us;
      info->added_at_us = info->queued ? info->added_at_us : entry.added_at_us;
      break;
    case EntryState::kFailing:
      break;
    case EntryState::kQuarantined:
      info->quarantined = true;
      info->quarantined_at_us = entry.quarantined_at_us;
      break;
  }
  if (entry.state != EntryState::kFailing) {
    info->group = entry.group;
    info->shard = entry.shard;
    // The lane of a queued key is its present one.
    info->lane = first || entry.state != EntryState::kDelayed ? entry.lane : info->lane;
  }
  if (entry.failures.has_value()) {
    info->failures = entry.failures->count;
    info->first_failed_at_us = entry.failures->first_at_us;
    info->last_failed_at_us = entry.failures->last_at_us;
    info->last_error = entry.failures->last_error;
  }
  info->failing = info->failures > 0 && !info->quarantined;
}

void ToRow(const QueueSummary& summary, int64_t now_us, v1::GetOverviewResponse::Queue* row) {
  row->set_name(summary.name);
  row->set_open(true);
  row->set_shards(summary.shards);
  row->set_oldest_added_at_us(summary.oldest_added_at_us.value_or(0));
  v1::QueueCounts* const counts = row->mutable_counts();
  counts->set_queued(summary.pending);
  counts->set_delayed(summary.delayed);
  counts->set_failing(summary.failing);
  counts->set_quarantined(summary.quarantined);
  for (const auto& [lane, keys] : summary.lanes) {
    (*counts->mutable_lanes())[lane] = keys;
  }
  counts->set_other_lanes(summary.other_lanes);
  if (summary.next_ready_at_us.has_value()) {
    counts->set_next_due_us(std::max<int64_t>(0, *summary.next_ready_at_us - now_us));
  }
  counts->set_paused(summary.paused);
  if (counts->paused()) {
    row->set_paused_until_us(summary.paused_until_us.value_or(0));
  }
}

}  // namespace

void StoredStore::Due::Made(int64_t begin_us, int64_t end_us) {
  at_us = end_us + std::max(kFreshUs, kRest * (end_us - begin_us));
}

Status StoredStore::Open() {
  std::shared_ptr<const StoreView> view;
  return View(&view);
}

Status StoredStore::View(std::shared_ptr<const StoreView>* view) const {
  const MutexLock lock(mu_);
  const int64_t begin_us = clock_->SteadyUs();
  if (view_ == nullptr || begin_us >= view_due_.at_us) {
    std::unique_ptr<StoreView> opened;
    if (Status s = StoreView::Open(directory_, &opened); !s.ok()) {
      return s;
    }
    view_ = std::move(opened);
    view_due_.Made(begin_us, clock_->SteadyUs());
  }
  *view = view_;
  return {};
}

Status StoredStore::ViewOf(std::string_view queue, std::shared_ptr<const StoreView>* view) const {
  Status s = View(view);
  return s.ok() ? CheckQueueExists((*view)->QueueNames(), queue) : s;
}

Status StoredStore::Check(std::string_view queue) const {
  std::shared_ptr<const StoreView> view;
  return ViewOf(queue, &view);
}

Status StoredStore::Scan(std::string_view queue, const KeyVisitor& visit) const {
  std::shared_ptr<const StoreView> view;
  if (Status s = ViewOf(queue, &view); !s.ok()) {
    return s;
  }
  return view->ForEachEntry(queue, [&visit](const Entry& entry) {
    KeyInfo info;
    Join(entry, &info);
    return visit(info);
  });
}

Status StoredStore::Inspect(std::string_view queue, std::string_view key,
                            const std::function<void(const KeyInfo&)>& visit) const {
  std::shared_ptr<const StoreView> view;
  if (Status s = ViewOf(queue, &view); !s.ok()) {
    return s;
  }
  std::vector<Entry> entries;
  if (Status s = view->Find(queue, key, &entries); !s.ok()) {
    return s;
  }
  KeyInfo info;
  for (const Entry& entry : entries) {
    Join(entry, &info);
  }
  visit(info);
  return {};
}

std::vector<std::string> StoredStore::Names() const {
  std::shared_ptr<const StoreView> view;
  return View(&view).ok() ? view->QueueNames() : std::vector<std::string>();
}

// By a view of its own: a search may use the other one.
Status StoredStore::Count(v1::GetOverviewResponse* overview) const {
  const int64_t now_us = clock_->WallUs();
  std::unique_ptr<StoreView> view;
  if (Status s = StoreView::Open(directory_, &view); !s.ok()) {
    return s;
  }
  for (const std::string& name : view->QueueNames()) {
    QueueSummary summary;
    if (Status s =
            view->Summarize(name, {.top_failing = 0, .top_groups = 0, .now_us = now_us}, &summary);
        !s.ok()) {
      return s;
    }
    ToRow(summary, now_us, overview->add_queues());
  }
  const StoreInfo& info = view->info();
  overview->set_directory(ToUtf8(info.dir));
  overview->set_uuid(info.uuid);
  overview->set_pid(info.owner_alive ? info.owner_pid : 0);
  ToError(Status::Ok(), overview->mutable_health());
  overview->set_now_us(now_us);
  overview->set_read_at_us(now_us);
  AddFindings(/*live=*/false, overview);
  return {};
}

bool StoredStore::BeginCount() {
  const MutexLock lock(mu_);
  while (counting_ && !has_overview_) {
    counted_.Wait(mu_);
  }
  if (counting_ || clock_->SteadyUs() < overview_due_.at_us) {
    return false;
  }
  counting_ = true;
  return true;
}

void StoredStore::EndCount(const Status& status, v1::GetOverviewResponse overview,
                           int64_t begin_us) {
  const MutexLock lock(mu_);
  if (status.ok()) {
    overview_ = std::move(overview);
  } else {  // The counts of before stay.
    ToError(status, overview_.mutable_health());
  }
  has_overview_ = true;
  counting_ = false;
  overview_due_.Made(begin_us, clock_->SteadyUs());
  counted_.NotifyAll();
}

void StoredStore::ReadOverview(const std::string& queue, v1::GetOverviewResponse* response) {
  if (BeginCount()) {
    const int64_t begin_us = clock_->SteadyUs();
    v1::GetOverviewResponse overview;
    const Status s = Count(&overview);
    EndCount(s, std::move(overview), begin_us);
  }
  {
    const MutexLock lock(mu_);
    *response = overview_;
  }
  if (!queue.empty() && !WQ_MUTANT(overview_has_other_queues)) {
    auto* const rows = response->mutable_queues();
    rows->erase(std::remove_if(rows->begin(), rows->end(),
                               [&queue](const auto& row) { return row.name() != queue; }),
                rows->end());
  }
}

}  // namespace wq

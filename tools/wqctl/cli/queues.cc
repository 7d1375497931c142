#include "tools/wqctl/cli/queues.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/mutant.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/log.h"
#include "wq/clock.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

// Longer words are not compared.
constexpr size_t kMaxWordBytes = 64;

// How many letters must be inserted, deleted, replaced or swapped with a neighbour.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// What a reader of a replica sees may be older than what the owner has.
void TellReplica(const wq::StoreView& view) {
  const wq::StoreInfo& info = view.info();
  if (!info.replica) return;
  std::string text = wq::EscapeKey(info.dir, 4096) + " is a replica: ";
  if (!info.replica->seeded) {
    text += "not complete yet";
  } else {
    text += "entry " + std::to_string(info.replica->sequence) + " of the log";
  }
  if (info.written_at_us != 0) {
    const int64_t age_us = wq::Clock::System()->WallUs() - info.written_at_us;
    text +=
        ", written " + FormatAge(std::chrono::microseconds{std::max<int64_t>(age_us, 0)}) + " ago";
  }
  LogInfo(text);
}

}  // namespace

std::string DidYouMean(std::string_view word, const std::vector<std::string>& names) {
  if (word.empty() || word.size() > kMaxWordBytes) return "";
  std::pair<size_t, const std::string*> best{std::max<size_t>(1, word.size() / 3) + 1, nullptr};
  for (const std::string& name : names) {
    if (name.size() > kMaxWordBytes) continue;
    const size_t distance = Distance(word, name);
    if (distance < std::min(best.first, word.size())) {
      best = {distance, &name};
    }
  }
  return best.second == nullptr || WQ_MUTANT(nearest_name_is_not_given)
             ? ""
             : "; did you mean \"" + wq::EscapeKey(*best.second) + "\"?";
}

wq::Status NoSuchQueue(std::string_view queue, const std::vector<std::string>& names) {
  return wq::Status::NotFound("no queue \"" + wq::EscapeKey(queue) + "\"" +
                              DidYouMean(queue, names));
}

wq::Status ExplainMissing(const std::string& store_dir, const std::string& queue,
                          wq::Status status) {
  if (status.code() != wq::StatusCode::kNotFound) return status;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> names;
  wq::Status s = ViewQueues(store_dir, queue, &view, &names);
  return s.ok() || view == nullptr ? status : s;
}

wq::Status ViewQueues(const std::string& store_dir, const std::optional<std::string>& queue,
                      std::unique_ptr<wq::StoreView>* view, std::vector<std::string>* names) {
  if (wq::Status s = wq::StoreView::Open(store_dir, view); !s.ok()) return s;
  TellReplica(**view);
  *names = (*view)->QueueNames();
  if (!queue) return wq::Status::Ok();
  if (!std::binary_search(names->begin(), names->end(), *queue)) {
    return NoSuchQueue(*queue, *names);
  }
  *names = {*queue};
  return wq::Status::Ok();
}

wq::QueueOptions ToolQueueOptions() {
  wq::QueueOptions options;
  options.order = wq::Order::kPriorities;
  options.re_add = wq::ReAdd::kSetsLane;
  return options;
}

wq::Status OpenQueue(const std::string& store_dir, const std::string& queue,
                     const wq::QueueOptions& options, OpenedQueue* opened) {
  if (wq::Status s = wq::Store::Open({}, store_dir, &opened->store); !s.ok()) return s;
  return ExplainMissing(store_dir, queue, opened->store->OpenQueue(queue, options, &opened->queue));
}

}  // namespace wqctl

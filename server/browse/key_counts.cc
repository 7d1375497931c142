#include "server/browse/key_counts.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace wq {
namespace {

constexpr uint32_t kDefaultCounts = 50;
constexpr uint32_t kMaxRows = 1000;
constexpr size_t kMaxNameBytes = size_t{1} << 20;  // Of all rows of an answer.

}  // namespace

Status KeyCounts::Begin(const v1::CountByRequest& request) {
  if (!v1::CountByRequest::By_IsValid(request.by())) {
    return Status::InvalidArgument("by: there is no " + std::to_string(request.by()));
  }
  by_ = request.by();
  limit_ = request.limit() == 0 ? kDefaultCounts : std::min(request.limit(), kMaxRows);
  return filter_.Compile(request.filter());
}

std::string KeyCounts::NameOf(const KeyInfo& key) const {
  switch (by_) {
    case v1::CountByRequest::LANE:
      return std::to_string(key.lane);
    case v1::CountByRequest::SHARD:
      return key.shard.has_value() ? std::to_string(*key.shard) : std::string();
    default:
      return std::string(key.group);
  }
}

void KeyCounts::Visit(const KeyInfo& key) {
  if (!filter_.Matches(key)) {
    return;
  }
  std::string name = NameOf(key);
  auto it = rows_.find(name);
  if (it == rows_.end()) {
    if (rows_.size() >= kMaxNames) {
      ++others_;
      return;
    }
    it = rows_.try_emplace(std::move(name)).first;
  }
  v1::CountByResponse::Row& row = it->second;
  row.set_keys(row.keys() + 1);
  row.set_queued(row.queued() + (key.queued ? 1 : 0));
  row.set_processing(row.processing() + (key.processing ? 1 : 0));
  row.set_delayed(row.delayed() + (key.delayed ? 1 : 0));
  row.set_failing(row.failing() + (key.failing ? 1 : 0));
  row.set_quarantined(row.quarantined() + (key.quarantined ? 1 : 0));
}

void KeyCounts::End(v1::CountByResponse* response) {
  using Named = std::pair<const std::string, v1::CountByResponse::Row>;
  std::vector<Named*> sorted;
  sorted.reserve(rows_.size());
  for (Named& row : rows_) {
    sorted.push_back(&row);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Named* a, const Named* b) {
    return a->second.keys() != b->second.keys() ? a->second.keys() > b->second.keys()
                                                : a->first < b->first;
  });
  size_t bytes = 0;
  for (Named* const named : sorted) {
    bytes += named->first.size();
    if (static_cast<size_t>(response->rows_size()) >= limit_ || bytes > kMaxNameBytes) {
      others_ += named->second.keys();
      continue;
    }
    v1::CountByResponse::Row* const row = response->add_rows();
    *row = std::move(named->second);
    row->set_name(named->first);
  }
  response->set_others(others_);
  response->set_names(rows_.size());
}

}  // namespace wq

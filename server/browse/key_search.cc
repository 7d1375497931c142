#include "server/browse/key_search.h"

#include <algorithm>
#include <utility>

#include "server/api/convert.h"

namespace wq {
namespace {

constexpr uint32_t kDefaultPageRows = 100;
constexpr size_t kRowBytes = 128;  // Of a row besides its bytes, about.

// A page token: this version, the sort, its direction, whether the value is missing, the value in
// eight bytes, and the key.
constexpr char kPageVersion = 1;
constexpr size_t kPageHead = 12;

size_t BytesOf(const v1::KeyRow& row) {
  return kRowBytes + row.key().size() + row.group().size() + row.last_error().size();
}

}  // namespace

Status KeySearch::Begin(const v1::SearchRequest& request) {
  if (!v1::SearchRequest::Sort_IsValid(request.sort())) {
    return Status::InvalidArgument("sort: there is no order " + std::to_string(request.sort()));
  }
  sort_ = request.sort();
  reverse_ = request.reverse();
  limit_ = request.limit() == 0 ? kDefaultPageRows : std::min(request.limit(), kMaxPageRows);
  if (Status s = ReadPage(request.page()); !s.ok()) {
    return s;
  }
  return filter_.Compile(request.filter());
}

Status KeySearch::ReadPage(const std::string& page) {
  if (page.empty()) {
    return {};
  }
  if (page.size() <= kPageHead || page[0] != kPageVersion || page[1] != static_cast<char>(sort_) ||
      page[2] != static_cast<char>(reverse_) || (page[3] != 0 && page[3] != 1)) {
    return Status::InvalidArgument("page: it is not of a search with this order");
  }
  uint64_t value = 0;
  for (size_t i = 4; i < kPageHead; ++i) {
    value = value << 8 | static_cast<unsigned char>(page[i]);
  }
  after_key_ = page.substr(kPageHead);
  has_after_ = true;
  after_ = {page[3] == 1, static_cast<int64_t>(value), after_key_};
  return {};
}

std::string KeySearch::PageAfter(const Rank& rank) const {
  std::string page = {kPageVersion, static_cast<char>(sort_), static_cast<char>(reverse_),
                      static_cast<char>(rank.missing)};
  for (int shift = 56; shift >= 0; shift -= 8) {
    page += static_cast<char>(static_cast<uint64_t>(rank.value) >> shift & 0xFF);
  }
  return page.append(rank.key);
}

KeySearch::Rank KeySearch::RankOf(const KeyInfo& key) const {
  Rank rank{.missing = false, .value = 0, .key = key.key};
  switch (sort_) {
    case v1::SearchRequest::ADDED:
      rank.value = key.added_at_us;
      rank.missing = key.added_at_us == 0;
      break;
    case v1::SearchRequest::READY:
      rank.value = key.ready_at_us;
      rank.missing = key.ready_at_us == 0;
      break;
    case v1::SearchRequest::FAILURES:
      rank.value = -static_cast<int64_t>(std::min<uint64_t>(key.failures, INT64_MAX));
      break;
    case v1::SearchRequest::FAILED:
      rank.value = -key.last_failed_at_us;
      rank.missing = key.last_failed_at_us == 0;
      break;
    default:
      break;
  }
  rank.value = reverse_ ? -rank.value : rank.value;
  return rank;
}

// Equal values are in the order of the keys.
bool KeySearch::Less(const Rank& a, const Rank& b) const {
  if (a.missing != b.missing) {
    return b.missing;
  }
  if (a.value != b.value) {
    return a.value < b.value;
  }
  return reverse_ && sort_ == v1::SearchRequest::KEY ? b.key < a.key : a.key < b.key;
}

void KeySearch::Visit(const KeyInfo& key) {
  ++searched_;
  if (!filter_.Matches(key)) {
    return;
  }
  ++matched_;
  const Rank rank = RankOf(key);
  if ((has_after_ && !Less(after_, rank)) ||
      (dropped_.has_value() && !Less(rank, dropped_->rank()))) {
    return;
  }
  Row& row = rows_.emplace_back();
  row.missing = rank.missing;
  row.value = rank.value;
  ToKeyRow(key, kShownErrorBytes, &row.row);
  bytes_ += BytesOf(row.row);
  std::push_heap(rows_.begin(), rows_.end(), ByRank());
  while (rows_.size() > limit_ || (bytes_ > kMaxPageBytes && rows_.size() > 1)) {
    DropLast();
  }
}

void KeySearch::DropLast() {
  std::pop_heap(rows_.begin(), rows_.end(), ByRank());
  bytes_ -= BytesOf(rows_.back().row);
  dropped_ = std::move(rows_.back());  // Before what was dropped until now.
  rows_.pop_back();
}

void KeySearch::End(v1::SearchResponse* response) {
  std::sort_heap(rows_.begin(), rows_.end(), ByRank());
  if (dropped_.has_value() && !rows_.empty()) {
    response->set_next(PageAfter(rows_.back().rank()));
  }
  for (Row& row : rows_) {
    *response->add_keys() = std::move(row.row);
  }
  response->set_matched(matched_);
  response->set_searched(searched_);
}

}  // namespace wq

// KeySearch: the first rows of a sorted listing of keys, behind the page before.
//
//   KeySearch search;
//   Status s = search.Begin(request);           // InvalidArgument: the filter, the page, …
//   s = source->Scan([&](const KeyInfo& key) { search.Visit(key); return true; });
//   search.End(&response);
//
// A page is what follows a place in the order (the sort's value and the key), not a number of rows:
// so paging through keys that change meanwhile shows each key once whose value stays the same.
//
// Memory: that of a page, whatever the number of keys: at most kMaxPageRows rows, and
// kMaxPageBytes unless the first row alone is longer. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/browse/key_filter.h"
#include "wq/queue.h"
#include "wq/status.h"
#include "wq/v1/browse.pb.h"

namespace wq {

class KeySearch {
 public:
  static constexpr uint32_t kMaxPageRows = 1000;
  static constexpr size_t kMaxPageBytes = size_t{1} << 20;
  static constexpr size_t kShownErrorBytes = 300;

  Status Begin(const v1::SearchRequest& request);
  void Visit(const KeyInfo& key);
  // Sets all but took_us.
  void End(v1::SearchResponse* response);

 private:
  // A place in the order. Smaller comes first.
  struct Rank {
    bool missing = false;  // The key does not have the time: behind those that do.
    int64_t value = 0;
    std::string_view key;
  };
  struct Row {
    bool missing = false;
    int64_t value = 0;
    v1::KeyRow row;
    Rank rank() const { return {missing, value, row.key()}; }
  };

  Rank RankOf(const KeyInfo& key) const;
  bool Less(const Rank& a, const Rank& b) const;
  auto ByRank() const {
    return [this](const Row& a, const Row& b) { return Less(a.rank(), b.rank()); };
  }
  void DropLast();
  Status ReadPage(const std::string& page);
  std::string PageAfter(const Rank& rank) const;

  KeyFilter filter_;
  v1::SearchRequest::Sort sort_ = v1::SearchRequest::KEY;
  bool reverse_ = false;
  size_t limit_ = 0;
  bool has_after_ = false;
  Rank after_;             // Its key is in after_key_.
  std::string after_key_;  // The last one of the page before.
  uint64_t matched_ = 0;
  uint64_t searched_ = 0;

  std::vector<Row> rows_;  // A heap: the last one of the order is first.
  size_t bytes_ = 0;       // Of rows_.
  // The first row that was dropped: no row at or behind it is on this page.
  std::optional<Row> dropped_;
};

}  // namespace wq

// The pages of Browse.Search: every order, keys that change meanwhile, long keys, the memory of a
// page.
#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/browse/key_search.h"
#include "tests/server/browse_fixture.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using ::testing::ElementsAre;

class SearchPagesTest : public BrowseFixture {
 protected:
  // All keys of all pages, in order.
  std::vector<std::string> AllPages(v1::SearchRequest request) const {
    std::vector<std::string> keys;
    for (;;) {
      const v1::SearchResponse response = Search(request);
      for (const v1::KeyRow& row : response.keys()) {
        keys.push_back(row.key());
      }
      request.set_page(response.next());
      if (response.next().empty()) {
        return keys;
      }
    }
  }
};

// A key with random values, and the order that the pages must have.
struct Made {
  std::string key;
  KeyInfo info;
};

bool Before(const Made& a, const Made& b, v1::SearchRequest::Sort sort, bool reverse) {
  const auto value = [sort](const KeyInfo& info) -> int64_t {
    switch (sort) {
      case v1::SearchRequest::ADDED:
        return info.added_at_us;
      case v1::SearchRequest::READY:
        return info.ready_at_us;
      case v1::SearchRequest::FAILURES:
        return -static_cast<int64_t>(info.failures);
      case v1::SearchRequest::FAILED:
        return -info.last_failed_at_us;
      default:
        return 0;
    }
  };
  const int64_t x = value(a.info);
  const int64_t y = value(b.info);
  if (sort != v1::SearchRequest::FAILURES && (x == 0) != (y == 0)) {
    return y == 0;
  }
  if (x != y) {
    return reverse ? y < x : x < y;
  }
  return reverse && sort == v1::SearchRequest::KEY ? b.key < a.key : a.key < b.key;
}

// Against a plain sort of all keys, in pages of random sizes.
TEST(KeySearchPages, AreTheSortedKeysInEveryOrder) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<Made> keys(random() % 300);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i].key = std::to_string(random() % 1000) + "/" + std::to_string(i);
      // Some are so long that few fit into a page.
      keys[i].key += std::string(random() % 8 == 0 ? 200'000 : 0, 'x');
      keys[i].info.added_at_us = static_cast<int64_t>(random() % 5);
      keys[i].info.ready_at_us = static_cast<int64_t>(random() % 5);
      keys[i].info.failures = random() % 3;
      keys[i].info.last_failed_at_us = static_cast<int64_t>(random() % 5);
    }
    v1::SearchRequest request;
    request.set_sort(static_cast<v1::SearchRequest::Sort>(round % 5));
    request.set_reverse(random() % 2 == 0);
    request.set_limit(static_cast<uint32_t>(1 + random() % 40));
    std::vector<std::string> paged;
    do {
      std::shuffle(keys.begin(), keys.end(), random);
      KeySearch search;
      ASSERT_TRUE(search.Begin(request).ok());
      for (Made& made : keys) {
        made.info.key = made.key;
        search.Visit(made.info);
      }
      v1::SearchResponse response;
      search.End(&response);
      ASSERT_EQ(response.matched(), keys.size());
      ASSERT_LE(response.keys_size(), static_cast<int>(request.limit()));
      ASSERT_LE(response.ByteSizeLong(), 2 * KeySearch::kMaxPageBytes);
      for (const v1::KeyRow& row : response.keys()) {
        paged.push_back(row.key());
      }
      request.set_page(response.next());
    } while (!request.page().empty());
    std::sort(keys.begin(), keys.end(), [&request](const Made& a, const Made& b) {
      return Before(a, b, request.sort(), request.reverse());
    });
    ASSERT_EQ(paged.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(paged[i], keys[i].key) << i;
    }
  }
}

// Keys that stay are on exactly one page, whatever happens to the others.
TEST_F(SearchPagesTest, PagingWhileKeysChange) {
  constexpr size_t kKeys = 3000;
  for (size_t i = 0; i < kKeys; ++i) {
    Add("stay-" + std::to_string(i));
  }
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (size_t i = 0; !stop; ++i) {
      const std::string key = std::to_string(i % 5000);
      if (i / 5000 % 2 == 0) {
        EXPECT_TRUE(pods_->Add("come-" + key).ok());
      } else {
        static_cast<void>(pods_->Remove("come-" + key));
      }
    }
  });
  for (const auto sort : {v1::SearchRequest::KEY, v1::SearchRequest::ADDED}) {
    v1::SearchRequest request;
    request.set_sort(sort);
    request.set_limit(500);
    std::map<std::string, size_t> seen;
    for (const std::string& key : AllPages(request)) {
      ++seen[key];
    }
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(seen["stay-" + std::to_string(i)], 1U) << i;
    }
  }
  stop = true;
  writer.join();
}

TEST_F(SearchPagesTest, APageOfAnotherOrderIsRefused) {
  for (const char* key : {"a", "b", "c"}) {
    Add(key);
  }
  v1::SearchRequest request;
  request.set_limit(2);
  const v1::SearchResponse first = Search(request);
  EXPECT_EQ(first.keys_size(), 2);
  EXPECT_EQ(first.matched(), 3U);
  request.set_page(first.next());
  EXPECT_EQ(Search(request).keys(0).key(), "c");
  EXPECT_EQ(Search(request).next(), "");
  request.set_queue("pods");
  request.set_reverse(true);
  v1::SearchResponse response;
  EXPECT_EQ(TrySearch(request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wq

#include "storage/rocksdb/append_memtable.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/storage/support.h"
#include "tests/support/environment.h"

namespace wq::storage {
namespace {

// Orders by bytes, and counts how often it is asked.
class CountingComparator final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return rocksdb::BytewiseComparator()->Name(); }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    ++compared;
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*, const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  mutable std::atomic<uint64_t> compared{0};
};

size_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A database, and a map with its expected contents.
class AppendMemtableTest : public ::testing::Test {
 protected:
  AppendMemtableTest() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.memtable_factory = AppendMemtable();
    options.comparator = &comparator_;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, dir_ / "db", &db).ok());
    db_.reset(db);
  }

  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
    should_.insert_or_assign(key, value);
  }
  void Erase(const std::string& key) {
    ASSERT_TRUE(db_->Delete({}, key).ok());
    should_.erase(key);
  }
  void Flush() { ASSERT_TRUE(db_->Flush({}).ok()); }

  void ExpectAllThere() {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    auto want = should_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++want) {
      ASSERT_NE(want, should_.end());
      ASSERT_EQ(it->key().ToString(), want->first);
      ASSERT_EQ(it->value().ToString(), want->second);
    }
    EXPECT_EQ(want, should_.end());
    auto back = should_.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++back) {
      ASSERT_EQ(it->key().ToString(), back->first);
    }
    EXPECT_EQ(back, should_.rend());
  }
  void ExpectFound(const std::string& key) {
    std::string value;
    const rocksdb::Status got = db_->Get({}, key, &value);
    EXPECT_EQ(got.ok(), should_.contains(key));
    if (got.ok()) {
      EXPECT_EQ(value, should_[key]);
    }
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    it->Seek(key);
    const auto at_least = should_.lower_bound(key);
    ASSERT_EQ(it->Valid(), at_least != should_.end());
    if (it->Valid()) {
      EXPECT_EQ(it->key().ToString(), at_least->first);
    }
    it->SeekForPrev(key);
    const auto above = should_.upper_bound(key);
    ASSERT_EQ(it->Valid(), above != should_.begin());
    if (it->Valid()) {
      EXPECT_EQ(it->key().ToString(), std::prev(above)->first);
    }
  }

  TestDirectory dir_;
  CountingComparator comparator_;
  std::unique_ptr<rocksdb::DB> db_;
  std::map<std::string, std::string> should_;
};

// Keys that end at any byte of a machine word, contain zeros, and share prefixes of every length.
std::string OddKey(std::mt19937* random) {
  static const std::string parts[] = {std::string(1, '\0'), std::string(8, '\0'), "a", "namespace-",
                                      "\xff\xff",           "12345678",           "/"};
  std::string key;
  for (auto left = (*random)() % 6; left > 0; --left) {
    key += parts[(*random)() % std::size(parts)];
  }
  return key;
}

TEST_F(AppendMemtableTest, HoldsWhatWasWritten) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::string key = OddKey(&random);
    if (random() % 3 == 0) {
      Erase(key);
    } else {
      Put(key, std::to_string(i));
    }
    if (random() % 500 == 0) ExpectAllThere();
    if (random() % 50 == 0) ExpectFound(OddKey(&random));
    if (random() % 1000 == 0) Flush();
  }
  ExpectAllThere();
  Flush();
  ExpectAllThere();
}

TEST_F(AppendMemtableTest, OneKeyWrittenManyTimesIsTheNewest) {
  for (int i = 0; i < 5000; ++i) Put("the key", std::to_string(i));
  ExpectAllThere();
  Flush();
  ExpectAllThere();
}

TEST_F(AppendMemtableTest, SortsLongKeysThatDifferAtEveryWord) {
  std::vector<std::string> keys;
  std::string key(8, 'm');
  for (int i = 0; i < 1000; ++i) {
    keys.push_back(key + "b");
    key += "aaaaaaaa";
  }
  for (const std::string& each : keys) Put(each, "v");
  ExpectAllThere();
  Flush();
  ExpectAllThere();
}

// Making and deleting queues read a record after each few that they write, and each write of the
// journal puts its position under one key.
TEST_F(AppendMemtableTest, LookUpsBetweenWritesAreCheapAndKeepNoMemory) {
  constexpr int kLookUps = 2000;
  std::mt19937 random(1);
  const auto look_up = [&](int i) {
    const std::string key = "queue/" + std::to_string(random());
    Put(key, std::to_string(i));
    Put("position", std::to_string(i));
    std::string value;
    ASSERT_TRUE(db_->Get({}, key, &value).ok());
    ASSERT_EQ(value, std::to_string(i));
  };
  for (int i = 0; i < kLookUps; ++i) look_up(i);
  const size_t before = AllocatedBytes();
  comparator_.compared = 0;
  for (int i = 0; i < kLookUps; ++i) look_up(i);
  EXPECT_LT(comparator_.compared, kLookUps * 100U);
  // The records, their order, and the map of this test.
  EXPECT_LT(AllocatedBytes(), before + size_t{kLookUps} * 600 + (size_t{1} << 20));
  ExpectAllThere();
}

TEST_F(AppendMemtableTest, ACursorSeesWhatThereWasAtItsFirstSeek) {
  Put("a", "1");
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
  it->SeekToFirst();
  Put("b", "2");
  ASSERT_TRUE(it->Valid());
  it->Next();
  EXPECT_FALSE(it->Valid());
  ExpectAllThere();
}

}  // namespace
}  // namespace wq::storage

// What the engine may rely on in every implementation of Storage: the same tests on each.
#include "storage/storage.h"

#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {
namespace {

class StorageTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    storage_.reset();
    if (GetParam() == "Memory") {
      storage_ = std::make_unique<MemoryStorage>(disk_);
    } else {
      ASSERT_OK(OpenStorage(dir_ / "store", {.create_if_missing = true}, &storage_));
    }
  }
  std::string Dirty() { return Contents(*storage_, Family::kDirty); }
  std::string Get(std::string_view key) {
    std::string value;
    const Status status = storage_->Get(Family::kDirty, key, &value);
    return status.ok() ? value : status.code() == StatusCode::kNotFound ? "(none)" : "(error)";
  }

  const std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  const TestDirectory dir_;
  std::unique_ptr<Storage> storage_;
};

TEST_P(StorageTest, PutsAndErasesInOrder) {
  MutationBatch batch;
  batch.Put(Family::kDirty, "a", "1");
  batch.Put(Family::kDirty, "b", "1");
  batch.Erase(Family::kDirty, "a");
  batch.Erase(Family::kDirty, "never there");
  batch.Put(Family::kDirty, "b", "2");
  batch.Put(Family::kDirty, "c", "");
  EXPECT_OK(storage_->Write(batch, false));
  EXPECT_EQ(Dirty(), "b=2 c=");
  EXPECT_EQ(Get("a"), "(none)");
  EXPECT_EQ(Get("b"), "2");
  EXPECT_EQ(Get("c"), "");
}

TEST_P(StorageTest, FamiliesAreApart) {
  MutationBatch batch;
  for (int i = 1; i < kFamilyCount; ++i) {
    batch.Put(static_cast<Family>(i), "k", std::to_string(i));
  }
  EXPECT_OK(storage_->Write(batch, true));
  for (int i = 1; i < kFamilyCount; ++i) {
    EXPECT_EQ(Contents(*storage_, static_cast<Family>(i)), "k=" + std::to_string(i));
  }
}

TEST_P(StorageTest, AnEmptyBatchIsFine) {
  MutationBatch batch;
  EXPECT_OK(storage_->Write(batch, true));
}

TEST_P(StorageTest, ABatchIsAsItWasAfterItsWrite) {
  MutationBatch batch;
  batch.Put(Family::kDirty, "a", "1");
  EXPECT_OK(storage_->Write(batch, false));
  EXPECT_EQ(batch.count(), 1U);
  batch.Put(Family::kDirty, "b", "2");
  EXPECT_OK(storage_->Write(batch, false));
  EXPECT_EQ(Dirty(), "a=1 b=2");
  batch.Clear();
  EXPECT_TRUE(batch.empty());
  batch.Erase(Family::kDirty, "a");
  EXPECT_OK(storage_->Write(batch, false));
  EXPECT_EQ(Dirty(), "b=2");
}

TEST_P(StorageTest, ScansByUnsignedBytes) {
  for (const std::string& key : {std::string("\xff"), std::string("a"), std::string("\x7f"),
                                 std::string("a\0", 2), std::string("\0", 1)}) {
    ASSERT_OK(Put(storage_.get(), Family::kDirty, key, ""));
  }
  EXPECT_EQ(Dirty(), std::string("\0= a= a\0= \x7f= \xff=", 15));
}

TEST_P(StorageTest, ScansFromBeginUpToEnd) {
  for (const char* key : {"a", "b", "c", "d"})
    ASSERT_OK(Put(storage_.get(), Family::kDirty, key, ""));
  const auto scan = [this](std::string_view begin, std::string_view end) {
    std::string seen;
    EXPECT_OK(storage_->Scan(Family::kDirty, begin, end, [&](std::string_view key, auto) {
      seen += key;
      return true;
    }));
    return seen;
  };
  EXPECT_EQ(scan("", ""), "abcd");
  EXPECT_EQ(scan("b", "d"), "bc");
  EXPECT_EQ(scan("aa", "cc"), "bc");
  EXPECT_EQ(scan("c", ""), "cd");
  EXPECT_EQ(scan("b", "b"), "");
  EXPECT_EQ(scan("x", ""), "");
}

TEST_P(StorageTest, ScanStopsWhenTheVisitorSaysSo) {
  for (const char* key : {"a", "b", "c"}) ASSERT_OK(Put(storage_.get(), Family::kDirty, key, ""));
  int seen = 0;
  EXPECT_OK(storage_->Scan(Family::kDirty, "", "", [&seen](auto, auto) { return ++seen < 2; }));
  EXPECT_EQ(seen, 2);
}

TEST_P(StorageTest, AVisitorMayRead) {
  for (const char* key : {"a", "b"}) ASSERT_OK(Put(storage_.get(), Family::kDirty, key, key));
  std::string seen;
  EXPECT_OK(storage_->Scan(Family::kDirty, "", "", [&](std::string_view key, auto) {
    seen += Get(key) + ":" + Dirty() + ";";
    return true;
  }));
  EXPECT_EQ(seen, "a:a=a b=b;b:a=a b=b;");
}

TEST_P(StorageTest, ReopensWithWhatWasWritten) {
  ASSERT_OK(Put(storage_.get(), Family::kDirty, "a", "1"));
  EXPECT_OK(storage_->Sync());
  Reopen();
  EXPECT_EQ(Dirty(), "a=1");
  ASSERT_OK(Put(storage_.get(), Family::kDirty, "b", "2"));
  EXPECT_OK(storage_->Close());
  Reopen();
  EXPECT_EQ(Dirty(), "a=1 b=2");
}

TEST_P(StorageTest, WhatIsNotSyncedIsFound) {
  const auto unsynced = [this] {
    std::string found;
    EXPECT_OK(storage_->ScanUnsynced(Family::kDirty, [&](auto key, auto value) {
      found.append(key).append("=").append(value).append(" ");
      return true;
    }));
    return found;
  };
  ASSERT_OK(Put(storage_.get(), Family::kDirty, "a", "1"));
  ASSERT_OK(storage_->Close());  // It is in a table.
  Reopen();
  ASSERT_OK(Put(storage_.get(), Family::kDirty, "b", "1"));
  ASSERT_OK(Put(storage_.get(), Family::kDirty, "b", "2"));
  ASSERT_OK(Put(storage_.get(), Family::kLanes, "c", "1"));
  EXPECT_EQ(unsynced(), GetParam() == "Memory" ? "a=1 b=2 " : "b=2 ");
}

TEST_P(StorageTest, LongKeysAndValuesComeBack) {
  const std::string key(64 << 10, 'k');
  const std::string value(size_t{3} << 20, 'v');
  ASSERT_OK(Put(storage_.get(), Family::kDirty, key, value));
  Reopen();
  EXPECT_EQ(Get(key), value);
}

INSTANTIATE_TEST_SUITE_P(All, StorageTest, ::testing::Values("Memory", "Rocksdb"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace wq::storage

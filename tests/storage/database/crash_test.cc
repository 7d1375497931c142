// A store whose owner is killed, and one that is read beside its owner.
#include <cstdlib>

#include "storage/open.h"
#include "storage/record_keys.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

// How many batches of Child.WriteBatches `reader` holds; fails if they are not exactly the first
// ones, each of them complete.
uint64_t CountBatches(const Reader& reader) {
  std::string counter = "0";
  const Status status = reader.Get(Family::kDefault, "counter", &counter);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kNotFound) << status.message();
  const uint64_t batches = std::stoull(counter);
  const auto expect_every = [&](Family family, uint64_t step) {
    uint64_t seen = 0;
    EXPECT_OK(reader.Scan(family, "", "", [&](std::string_view key, std::string_view) {
      ++seen;
      EXPECT_EQ(ReadBig64(key), seen * step);
      return ReadBig64(key) == seen * step;
    }));
    EXPECT_EQ(seen, batches / step) << kFamilyNames[static_cast<int>(family)];
  };
  expect_every(Family::kDirty, 1);
  expect_every(Family::kDelayed, 1);
  expect_every(Family::kLanes, 7);
  return batches;
}

TEST(Crash, WhatWasWrittenBeforeAKillIsThere) {
  const TestDirectory dir;
  uint64_t written = 0;
  for (const int more : {1, 40, 200, 3, 900}) {
    Child writer("WriteBatches", dir / "s");
    ASSERT_EQ(writer.ReadLine(), "open");
    for (int i = 0; i < more; ++i) written = std::stoull(writer.ReadLine());
    writer.Kill();
    // The child may have reported more batches before it was killed.
    for (std::string line = writer.ReadLine(); !line.empty(); line = writer.ReadLine()) {
      written = std::stoull(line);
    }
    std::unique_ptr<Reader> reader;
    ASSERT_OK(OpenReader(dir / "s", &reader));
    const uint64_t seen = CountBatches(*reader);
    EXPECT_GE(seen, written);
    EXPECT_LE(seen, written + 1);
    std::unique_ptr<Storage> storage;
    ASSERT_OK(OpenExisting(dir / "s", &storage));
    EXPECT_EQ(CountBatches(*storage), seen) << "the reader and the next owner agree";
    storage.reset();  // Without Close: a crash right after recovery.
  }
}

TEST(Crash, AFailedWriteIsTheLastOne) {
  const TestDirectory dir;
  Child writer("WriteUntilRefused", dir / "s");
  const uint64_t written = std::stoull(writer.ReadLine());
  EXPECT_GT(written, 100U);
  EXPECT_EQ(writer.ReadLine(), "refused for good");
  EXPECT_EQ(writer.ReadLine(), "");
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenExisting(dir / "s", &storage));
  uint64_t seen = 0;
  std::string value;
  while (storage->Get(Family::kDirty, std::to_string(seen), &value).ok()) ++seen;
  EXPECT_GE(seen, written);
  EXPECT_LE(seen, written + 1) << "the failed one may be there";
}

TEST(Reader, SeesWholePrefixesBesideAnOwner) {
  const TestDirectory dir;
  Child writer("WriteBatches", dir / "s");
  ASSERT_EQ(writer.ReadLine(), "open");
  uint64_t seen = 0;
  for (int view = 0; view < 15; ++view) {
    uint64_t written = 0;
    for (int i = 0; i < 100; ++i) written = std::stoull(writer.ReadLine());
    std::unique_ptr<Reader> reader;
    ASSERT_OK(OpenReader(dir / "s", &reader));
    const uint64_t now = CountBatches(*reader);
    EXPECT_GE(now, written);
    EXPECT_GE(now, seen);
    seen = now;
    EXPECT_EQ(CountBatches(*reader), seen) << "the view stands still";
  }
}

TEST(Reader, ChangesNothing) {
  const TestDirectory dir;
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir / "s", &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "flushed", "1"));
  ASSERT_OK(storage->Close());
  ASSERT_OK(OpenExisting(dir / "s", &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "unflushed", "2"));
  const auto expect_untouched = [&dir] {
    const std::string before = Fingerprint(dir / "s");
    std::unique_ptr<Reader> reader;
    ASSERT_OK(OpenReader(dir / "s", &reader));
    EXPECT_EQ(Contents(*reader, Family::kDirty), "flushed=1 unflushed=2");
    reader.reset();
    EXPECT_EQ(Fingerprint(dir / "s"), before);
  };
  expect_untouched();  // Beside the owner.
  storage.reset();
  expect_untouched();  // After a crash.
  ASSERT_OK(OpenExisting(dir / "s", &storage));
  ASSERT_OK(storage->Close());
  expect_untouched();  // After a clean close.
}

TEST(Reader, OutlivesWhatTheOwnerDoes) {
  const TestDirectory dir;
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir / "s", &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "old", "1"));
  std::unique_ptr<Reader> reader;
  ASSERT_OK(OpenReader(dir / "s", &reader));
  MutationBatch batch;
  batch.Erase(Family::kDirty, "old");
  batch.Put(Family::kDirty, "new", "2");
  ASSERT_OK(storage->Write(batch, true));
  ASSERT_OK(storage->Close());
  EXPECT_EQ(Contents(*reader, Family::kDirty), "old=1");
}

}  // namespace
}  // namespace wq::storage

// A store that is read beside its owner, and after it.
#include "storage/open.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

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

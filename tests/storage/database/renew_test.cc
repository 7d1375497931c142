// A copy of a store that becomes a store of its own.
#include <filesystem>

#include "storage/open.h"
#include "storage/process_log.h"
#include "storage/records.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

OpenOptions Replica() {
  return {.create_if_missing = true, .process_log_bytes = 16384, .now_us = 1, .replicated = true};
}

// A replica whose owner was killed after it acknowledged a change in its process log.
void MakeReplica(const std::string& dir, bool* has_process_log) {
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenStorage(dir, Replica(), &storage));
  MutationBatch batch;
  PutReplication({.epoch = 1, .sequence = 1, .seeded = true}, &batch);
  ASSERT_OK(storage->Write(batch, /*sync=*/true));
  *has_process_log = storage->process_log() != nullptr;
  if (!*has_process_log) return;
  MutationBatch ahead;
  ahead.Put(Family::kDirty, "acknowledged", "1");
  ASSERT_TRUE(storage->process_log()->Append(ahead.mutations()));
}

void ExpectRenewed(const std::string& dir) {
  ASSERT_OK(RenewStore(dir, 2));
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenExisting(dir, &storage));
  EXPECT_EQ(Contents(*storage, Family::kDirty), "acknowledged=1");
  AheadRecord ahead;
  ASSERT_OK(GetAhead(*storage, &ahead));
  EXPECT_EQ(ahead.mutations, "");
}

TEST(RenewTest, AReplicaKeepsWhatWasAcknowledgedAheadOfItsLog) {
  const TestDirectory dir;
  bool has_process_log = false;
  MakeReplica(dir / "killed", &has_process_log);
  if (!has_process_log) GTEST_SKIP() << "no process log in " << dir / "killed";
  std::filesystem::copy(dir / "killed", dir / "opened_again");
  {
    std::unique_ptr<Storage> storage;  // Keeps the process log's part aside, and is killed.
    ASSERT_OK(OpenStorage(dir / "opened_again", Replica(), &storage));
  }
  ExpectRenewed(dir / "killed");
  ExpectRenewed(dir / "opened_again");
}

}  // namespace
}  // namespace wq::storage

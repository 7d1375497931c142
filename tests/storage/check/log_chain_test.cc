// Whether logs continue one another without a gap and reach as far as the tables. The logs and
// manifests are made by hand.
#include "base/crc32c.h"
#include "storage/check/wal_check.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

std::string Little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string Framed(const std::string& record) {
  const std::string body = '\x01' + record;
  return Little(MaskCrc32c(Crc32c(0, body)), 4) + Little(record.size(), 2) + body;
}

// The header of a batch of `count` changes: the check reads no more of a batch.
std::string Batch(uint64_t sequence, uint32_t count) {
  return Framed(Little(sequence, 8) + Little(count, 4));
}

class LogChainTest : public ::testing::Test {
 protected:
  LogChainTest() {
    std::filesystem::create_directory(store_);
    manifest_.path = store_ + "/MANIFEST-000006";
    manifest_.number = 6;
    manifest_.last_sequence = 10;
    manifest_.families[0] = {"default", 5, {}};
    manifest_.families[1] = {"dirty", 5, {}};
  }
  void Log(int number, const std::string& contents) {
    WriteFile(store_ + "/00000" + std::to_string(number) + ".log", contents);
  }
  Status Check() { return CheckWals(store_, manifest_, nullptr); }

  const TestDirectory dir_;
  const std::string store_ = dir_ / "store";
  Manifest manifest_;
};

TEST_F(LogChainTest, LogsThatFollowOneAnotherAreFine) {
  Log(4, "of an earlier life");
  Log(5, Batch(11, 2) + Batch(13, 1));
  Log(7, Batch(14, 1));
  Log(8, "");
  WriteFile(store_ + "/5.txt", "no log");
  EXPECT_OK(Check());
}

TEST_F(LogChainTest, WhatIsMissingIsNamed) {
  struct Case {
    bool dirty_is_ahead;  // Of log 7.
    std::string five;
    std::string seven;
    std::string why;
  };
  const std::string in_five = store_ + "/000005.log: records are missing between it and ";
  const std::string in_manifest = manifest_.path + ": records are missing between it and 000005";
  const std::string empty = "000005.log is empty, and records are missing between it and ";
  for (const Case& each : std::vector<Case>{
           {false, Batch(11, 2), Batch(14, 1), in_five + "000007.log"},
           {false, Batch(12, 1), "", in_manifest},
           {true, Batch(12, 1), Batch(13, 1), in_manifest},
           {true, Batch(8, 2), "", in_five + "the tables"},
           {false, "", Batch(11, 1), empty + "000007.log"},
           {true, "", "", empty + "the tables"},
           {false, Framed("short"), "", "offset 0: a record too short for a batch"}}) {
    SCOPED_TRACE(each.why);
    std::filesystem::remove_all(store_);
    std::filesystem::create_directory(store_);
    manifest_.families[1].log_number = each.dirty_is_ahead ? 7 : 5;
    Log(5, each.five);
    if (!each.seven.empty()) Log(7, each.seven);
    EXPECT_STATUS(kCorruption, each.why, Check());
  }
}

// A family that is ahead has the beginning in tables.
TEST_F(LogChainTest, ALogMayBeginBeforeTheTablesEnd) {
  manifest_.families[1].log_number = 7;
  Log(5, Batch(9, 4));
  Log(7, Batch(13, 1));
  EXPECT_OK(Check());
}

// The manifest has named it, as the log that was new when a family's records came into a table.
TEST_F(LogChainTest, AMissingLogThatTheManifestNamesIsNamed) {
  manifest_.logs = {4, 5, 7, 8};
  Log(5, Batch(11, 2));
  Log(8, Batch(14, 1));
  EXPECT_STATUS(kCorruption,
                store_ + "/000007.log is missing, and so are records between 000005.log", Check());
  manifest_.families[1].log_number = 7;
  Log(5, Batch(8, 2));
  std::filesystem::remove(store_ + "/000008.log");
  EXPECT_STATUS(kCorruption,
                store_ + "/000007.log is missing, and so are records between 000005.log", Check());
  EXPECT_EQ(DescribeLostEnd(store_, manifest_), store_ + "/000007.log is missing");
  manifest_.logs = {4, 5};
  EXPECT_EQ(DescribeLostEnd(store_, manifest_),
            store_ + "/000005.log is cut off, or a later log is missing");
}

TEST_F(LogChainTest, TheFirstLogIsMissing) {
  manifest_.number = 9;
  EXPECT_STATUS(kCorruption, "/000005.log is missing, which MANIFEST-000006", Check());
  manifest_.first_log_from = Manifest::FirstLogFrom::kChange;
  EXPECT_STATUS(kCorruption, "/000005.log is missing, which MANIFEST-000006", Check());
  // The log that was made with the manifest may be the first one.
  manifest_.first_log_from = Manifest::FirstLogFrom::kAgreement;
  EXPECT_STATUS(kCorruption, "/000008.log is missing, which MANIFEST-000006", Check());
  Log(8, Batch(11, 1));
  EXPECT_OK(Check());
}

}  // namespace
}  // namespace wq::storage

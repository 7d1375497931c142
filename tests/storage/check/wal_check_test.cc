#include "storage/check/wal_check.h"

#include "tests/storage/support.h"

namespace wq::storage {
namespace {

// A store that was abandoned with records in its log alone.
class WalCheckTest : public ::testing::Test {
 protected:
  // Writes one batch for each size: key "0", "1", ... with a value of that many bytes.
  void Write(const std::vector<size_t>& sizes, char filling = 'v') {
    std::unique_ptr<Storage> storage;
    ASSERT_OK(OpenNew(store_, &storage));
    for (size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_OK(
          Put(storage.get(), Family::kDirty, std::to_string(i), std::string(sizes[i], filling)));
    }
    storage.reset();
    const std::vector<std::string> logs = FilesWithSuffix(store_, ".log");
    ASSERT_EQ(logs.size(), 1U);
    log_ = store_ + "/" + logs[0];
    bytes_ = ReadFile(log_);
    WalSummary summary;
    ASSERT_OK(CheckWal(log_, &summary));
    records_ = summary.records;
    EXPECT_EQ(records_, sizes.size() + 1) << "and the store's own record";
    EXPECT_EQ(summary.valid_bytes, bytes_.size());
    EXPECT_FALSE(summary.torn);
  }
  Status Check() {
    Manifest manifest;
    Status status = ReadManifest(store_, &manifest);
    return status.ok() ? CheckWals(store_, manifest, nullptr) : status;
  }
  // The summary of the log with these contents, which is accepted. If `reads`, a reader sees the
  // keys of the whole records, and changes nothing.
  WalSummary Torn(const std::string& contents, bool reads = true) {
    WriteFile(log_, contents);
    WalSummary summary;
    EXPECT_OK(CheckWal(log_, &summary));
    EXPECT_OK(Check());
    if (reads && summary.records > 0) {
      EXPECT_EQ(KeysSeen(), summary.records - 1);
      EXPECT_EQ(ReadFile(log_), contents);
    }
    return summary;
  }
  // How many of the keys a reader sees; they have to be the first ones.
  uint64_t KeysSeen() {
    std::unique_ptr<Reader> reader;
    EXPECT_OK(OpenReader(store_, &reader));
    uint64_t seen = 0;
    std::string value;
    while (reader->Get(Family::kDirty, std::to_string(seen), &value).ok()) ++seen;
    uint64_t rows = 0;
    EXPECT_OK(reader->Scan(Family::kDirty, "", "", [&rows](auto, auto) { return ++rows != 0; }));
    EXPECT_EQ(rows, seen) << "no hole";
    return seen;
  }
  void ExpectEveryFlipIsFound(const std::vector<size_t>& sizes, char filling, size_t step) {
    std::filesystem::remove_all(store_);
    ASSERT_NO_FATAL_FAILURE(Write(sizes, filling));
    for (size_t at = 0; at < bytes_.size(); at += step) {
      for (const int bit : {0, 1, 2, 3, 4, 5, 6, 7}) {
        std::string flipped = bytes_;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        WriteFile(log_, flipped);
        EXPECT_EQ(Check().code(), StatusCode::kCorruption) << "byte " << at << ", bit " << bit;
      }
    }
  }

  const TestDirectory dir_;
  const std::string store_ = dir_ / "store";
  std::string log_;
  std::string bytes_;  // Of the log, undamaged.
  uint64_t records_ = 0;
};

// Also in the last record; over many blocks; and in records that end in zeros of their own.
TEST_F(WalCheckTest, EverySingleFlippedBitIsFound) {
  ExpectEveryFlipIsFound({1, 10, 100, 5, 50, 0}, 'v', 1);
  ExpectEveryFlipIsFound({40'000, 10, 70'000, 33'000}, 'v', 997);
  ExpectEveryFlipIsFound({10, 1500}, '\0', 13);
}

// The bytes between the last record of a block and the block's end belong to no record.
TEST_F(WalCheckTest, UnusedBytesAtTheEndOfABlockDoNotMatter) {
  Write({});
  // A header of 7 and a batch of 12 bytes, with tag, family, key and value and their lengths: so
  // that three bytes of the block are left.
  const size_t left = 32768 - bytes_.size();
  const size_t overhead = 7 + 12 + 1 + 1 + 1 + 1 + 3;
  std::filesystem::remove_all(store_);
  Write({left - overhead - 3, 20});
  ASSERT_EQ(bytes_.substr(32765, 3), std::string(3, '\0'));
  std::string damaged = bytes_;
  damaged[32766] = 'x';
  WriteFile(log_, damaged);
  EXPECT_OK(Check());
  EXPECT_EQ(KeysSeen(), 2U);
}

TEST_F(WalCheckTest, EveryTruncationIsATornTail) {
  Write({1, 10, 100, 5, 50, 0});
  uint64_t records = 0;
  for (size_t size = 0; size <= bytes_.size(); ++size) {
    const WalSummary summary = Torn(bytes_.substr(0, size), /*reads=*/size % 23 == 0);
    EXPECT_GE(summary.records, records);
    EXPECT_EQ(summary.torn, summary.valid_bytes != size);
    records = summary.records;
  }
  EXPECT_EQ(records, records_);
}

TEST_F(WalCheckTest, TruncationsAcrossBlocksAndZerosAtTheEndAreTornTails) {
  Write({40'000, 10, 70'000, 33'000});
  for (const size_t size :
       std::vector<size_t>{32'767, 32'768, 32'769, 32'775, 32'776, 65'536, 98'310, 131'072}) {
    EXPECT_TRUE(Torn(bytes_.substr(0, size)).torn) << size;
  }
  for (const size_t zeros : std::vector<size_t>{1, 7, 100, 4096, 100'000}) {
    const WalSummary summary = Torn(bytes_ + std::string(zeros, '\0'));
    EXPECT_TRUE(summary.torn);
    EXPECT_EQ(summary.records, records_);
  }
}

// Some sectors of the record were not written before a power cut, although the file has its full
// length.
TEST_F(WalCheckTest, ZerosFromASectorToTheEndAreATornTail) {
  Write({300, 3000, 40'000, 100});
  uint64_t records = 0;
  for (size_t zeros = 512; zeros < bytes_.size(); zeros += 512) {
    SCOPED_TRACE("zeros from " + std::to_string(zeros));
    std::string left = bytes_.substr(0, zeros);
    left.resize(bytes_.size() + zeros % 1024 * 100, '\0');
    const WalSummary summary = Torn(left, /*reads=*/zeros % 8192 == 0);
    EXPECT_TRUE(summary.torn);
    EXPECT_GE(summary.records, records);
    EXPECT_LE(summary.valid_bytes, zeros);
    records = summary.records;
  }
  EXPECT_EQ(records, records_ - 1);
}

TEST_F(WalCheckTest, ZerosInARecordWithAnythingBehindThemAreCorruption) {
  Write({10, 3000, 40'000});
  for (const size_t behind : std::vector<size_t>{3500, 4096, 32'767, 32'768, 40'000, 100'000}) {
    std::string damaged = bytes_.substr(0, 1024);
    damaged.resize(behind, '\0');
    WriteFile(log_, damaged + "x");
    EXPECT_STATUS(kCorruption, log_ + ", offset ", Check());
  }
  // In the record itself, and in its last sector.
  std::string damaged = bytes_.substr(0, 1000);
  damaged.resize(5000, '\0');
  damaged[bytes_.find(std::string(7, 'v')) + 3000] = 'x';
  WriteFile(log_, damaged);
  EXPECT_STATUS(kCorruption, log_ + ", offset ", Check());
}

TEST_F(WalCheckTest, ZerosWithRecordsBehindThemAreCorruption) {
  Write({100, 100, 100, 40'000, 100});
  for (const size_t zeros : std::vector<size_t>{100, 150, 40'000}) {
    std::string damaged = bytes_;
    damaged.replace(bytes_.find("1dvvv") - 30, zeros, zeros, '\0');
    WriteFile(log_, damaged);
    EXPECT_EQ(Check().code(), StatusCode::kCorruption) << zeros;
  }
}

// The zeros begin with a record, and end in it: where its second block begins, or later.
TEST_F(WalCheckTest, ZerosWithAPartOfTheirRecordBehindThemAreCorruption) {
  Write({100});
  const size_t record = bytes_.size();
  std::filesystem::remove_all(store_);
  Write({100, 70'000});
  for (const size_t end : std::vector<size_t>{32'768, 65'536}) {
    for (const bool intact : {true, false}) {
      std::string damaged = bytes_;
      damaged.replace(record, end - record, end - record, '\0');
      if (!intact) damaged[end + 20] = 'x';
      WriteFile(log_, damaged);
      EXPECT_STATUS(kCorruption, log_ + ", offset " + std::to_string(record), Check());
    }
  }
}

// A damaged header whose length reaches beyond the end of the file.
TEST_F(WalCheckTest, AnIncompleteRecordWithWholeOnesBehindItIsCorruption) {
  Write({100, 100, 100});
  std::string damaged = bytes_;
  const size_t header = damaged.find("1dvvv") - 23;
  damaged.replace(header, 7, std::string("\x11\x22\x33\x44\x00\x70\x01", 7));
  WriteFile(log_, damaged);
  EXPECT_STATUS(kCorruption, log_, Check());
}

TEST_F(WalCheckTest, ATornLogBeforeOneThatGoesOnWithoutAGapIsFine) {
  Write({10, 20, 30});
  WriteFile(log_, bytes_.substr(0, bytes_.size() - 5));
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenExisting(store_, &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "2", "again"));
  storage.reset();
  // Restores the first owner's log, which the second owner has removed.
  WriteFile(log_, bytes_.substr(0, bytes_.size() - 5));
  EXPECT_OK(Check());
}

// Its records are in tables: opening the store wrote them there.
TEST_F(WalCheckTest, ALogThatIsNotNeededAnyMoreMayBeDamaged) {
  Write({10, 20, 30});
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenExisting(store_, &storage));
  ASSERT_OK(Put(storage.get(), Family::kDirty, "3", "more"));
  storage.reset();
  WriteFile(log_, "rubbish");
  EXPECT_OK(Check());
  EXPECT_EQ(KeysSeen(), 4U);
}

}  // namespace
}  // namespace wq::storage

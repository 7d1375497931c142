// What is in the file of a process log after appends, and what a reader takes from a file that was
// cut, damaged, replaced, or left by a power cut.
#include "storage/process_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/boot_id.h"
#include "storage/process_log/format.h"
#include "storage/process_log/read_process_log.h"
#include "tests/support/environment.h"
#include "tests/support/files.h"

namespace wq::storage {
namespace {

constexpr const char* kUuid = "0c4f9a2e-0000-4000-8000-000000000001";
constexpr uint64_t kCapacity = 32768;

std::string MutationsOf(int n) {
  MutationBatch batch;
  batch.Put(Family::kDirty, "key-" + std::to_string(n),
            std::string(static_cast<size_t>(n) % 50, 'v'));
  return std::string(batch.mutations());
}

class ProcessLogTest : public testing::Test {
 protected:
  void Create(const std::string& boot_id = BootId()) {
    ASSERT_TRUE(
        ProcessLog::Create(dir_.path(), {kUuid, boot_id, /*number=*/7, kCapacity}, &log_).ok());
  }
  // Appends the records `first` to `last`.
  void Append(int first, int last) {
    for (int n = first; n <= last; ++n) {
      ASSERT_TRUE(log_->Append(MutationsOf(n))) << n;
      ends_.push_back(log_->end());
    }
  }
  // The records that a reader takes from `from` on; the status of reading them.
  Status Read(LogPosition from, std::vector<std::string>* records) const {
    records->clear();
    ProcessLogContents contents;
    Status s = ReadProcessLog(dir_.path(), 7, &contents);
    if (!s.ok()) return s;
    LogPosition reached = 0;
    return contents.ForEach(
        from,
        [&](std::string_view mutations) {
          records->emplace_back(mutations);
          return Status::Ok();
        },
        &reached);
  }
  using Gaps = std::vector<std::pair<LogPosition, LogPosition>>;
  // What Salvage takes from `from` on, and what it leaves out.
  std::vector<std::string> Salvaged(LogPosition from, Gaps* gaps) const {
    std::vector<std::string> records;
    ProcessLogContents contents;
    EXPECT_TRUE(ReadProcessLog(dir_.path(), 7, &contents).ok());
    contents.Salvage(
        from, [&](std::string_view mutations) { records.emplace_back(mutations); },
        [&](LogPosition begin, LogPosition end) { gaps->emplace_back(begin, end); });
    return records;
  }
  // A copy of the log, as a snapshot has it, and its records.
  void Copy(ProcessLogContents* copy, MutationBatch* unwritten) const {
    ProcessLogContents contents;
    ASSERT_TRUE(ReadProcessLog(dir_.path(), 7, &contents).ok());
    const std::string into = dir_ / "copy";
    std::filesystem::create_directory(into);
    ASSERT_TRUE(contents.WriteSynced(into).ok());
    ASSERT_TRUE(ReadProcessLog(into, 7, copy).ok());
    ASSERT_TRUE(copy->AppendUnwritten({7, 0, false}, kUuid, unwritten).ok());
  }
  std::string Path() const { return dir_ / ProcessLogName(7); }
  std::string Bytes() const { return support::ReadFile(Path()); }
  void Write(const std::string& bytes) const { support::WriteFile(Path(), bytes); }
  static std::string Flipped(std::string bytes, size_t bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    return bytes;
  }
  // How many records end before this place in the file.
  int WholeBefore(size_t at) const {
    return static_cast<int>(std::count_if(
        ends_.begin(), ends_.end(), [at](LogPosition end) { return kLogDataOffset + end <= at; }));
  }
  static std::vector<std::string> Expected(int first, int last) {
    std::vector<std::string> records;
    for (int n = first; n <= last; ++n) records.push_back(MutationsOf(n));
    return records;
  }

  support::ScratchDirectory dir_;
  std::unique_ptr<ProcessLog> log_;
  std::vector<LogPosition> ends_;  // After each append.
};

TEST_F(ProcessLogTest, AReaderTakesEveryRecordBesideTheWriterAndAfterIt) {
  Create();
  Append(0, 99);
  std::vector<std::string> records;
  ASSERT_TRUE(Read(0, &records).ok());
  EXPECT_EQ(records, Expected(0, 99));
  log_.reset();
  ASSERT_TRUE(Read(ends_[49], &records).ok());
  EXPECT_EQ(records, Expected(50, 99));
  ASSERT_TRUE(Read(ends_[99], &records).ok());
  EXPECT_TRUE(records.empty());
}

TEST_F(ProcessLogTest, RecordsContinueAtTheBeginningOfTheRing) {
  Create();
  int appended = 0;
  for (int lap = 0; lap < 50; ++lap) {
    const int first = appended;
    while (log_->Append(MutationsOf(appended))) ++appended;
    ASSERT_GT(appended, first + 100);
    std::vector<std::string> records;
    ASSERT_TRUE(Read(ends_.empty() ? 0 : ends_.back(), &records).ok());
    EXPECT_EQ(records, Expected(first, appended - 1));
    ends_.push_back(log_->end());
    log_->Release(log_->end());
  }
}

TEST_F(ProcessLogTest, AFullLogRefusesUntilSpaceIsReleased) {
  Create();
  const std::string large(kCapacity / 4, 'x');
  EXPECT_FALSE(log_->Append(std::string(kCapacity / 2, 'x')));  // It never fits.
  while (log_->Append(large)) {
  }
  const LogPosition end = log_->end();
  EXPECT_FALSE(log_->Append(large));
  EXPECT_EQ(log_->end(), end);
  log_->Release(end);
  EXPECT_EQ(log_->Used(), 0U);
  EXPECT_TRUE(log_->Append(large));
}

TEST_F(ProcessLogTest, AFlippedBitIsCorruptionOrLosesNoRecord) {
  Create();
  Append(0, 4);
  log_.reset();
  const std::string good = Bytes();
  std::vector<std::string> records;
  for (size_t bit = 0; bit < 8 * (kLogDataOffset + ends_.back()); ++bit) {
    const size_t at = bit / 8;
    if (at >= 512 && at < kLogEndOffset && bit % 37 != 0) continue;  // Zeros.
    if (at >= kLogEndOffset + 8 && at < kLogDataOffset) continue;    // See the next tests.
    Write(Flipped(good, bit));
    const Status s = Read(0, &records);
    if (s.ok()) {  // Only the end of the log and the padding are of no record.
      EXPECT_EQ(records, Expected(0, 4)) << at;
      EXPECT_GE(at, kLogEndOffset);
      EXPECT_TRUE(at < kLogDataOffset || good[at] == '\0') << at;
    } else {
      const bool version = at >= 8 && at < 12;
      EXPECT_EQ(s.code(), version ? StatusCode::kNotSupported : StatusCode::kCorruption) << at;
      EXPECT_NE(s.message().find(ProcessLogName(7)), std::string::npos) << s.message();
    }
  }
}

// After a power cut damage cannot be distinguished from what was not written. A damaged header,
// which was synced, can.
TEST_F(ProcessLogTest, AfterAPowerCutTheRecordsBeforeAFlippedBitCount) {
  Create("another-boot");
  Append(0, 4);
  log_.reset();
  const std::string good = Bytes();
  std::vector<std::string> records;
  for (size_t bit = 0; bit < 8 * (kLogDataOffset + ends_.back()); ++bit) {
    const size_t at = bit / 8;
    if (at >= 512 && at < kLogDataOffset && bit % 37 != 0 && at - kLogEndOffset >= 8) continue;
    Write(Flipped(good, bit));
    const Status s = Read(0, &records);
    if (at < kLogEndOffset) {
      EXPECT_FALSE(s.ok()) << at;
      continue;
    }
    ASSERT_TRUE(s.ok()) << at << s.message();
    const bool lost = at >= kLogDataOffset && records.size() < 5;
    EXPECT_EQ(records, Expected(0, lost ? WholeBefore(at) - 1 : 4)) << at;
  }
}

TEST_F(ProcessLogTest, AfterAPowerCutTheRecordsBeforeTheFirstLostPageCount) {
  Create("another-boot");
  Append(0, 299);
  log_.reset();
  const std::string good = Bytes();
  ASSERT_GT(ends_.back(), 3 * kLogPageBytes);
  for (size_t page = kLogDataOffset; page + kLogPageBytes <= good.size(); page += kLogPageBytes) {
    std::string cut = good;
    cut.replace(page, kLogPageBytes, kLogPageBytes, '\0');
    cut.replace(kLogEndOffset, 8, 8, '\0');  // Its page may be lost as well.
    Write(cut);
    std::vector<std::string> records;
    ASSERT_TRUE(Read(0, &records).ok());
    EXPECT_EQ(records, Expected(0, WholeBefore(page) - 1)) << page;
  }
}

TEST_F(ProcessLogTest, WithoutAPowerCutALostPageIsCorruption) {
  Create();
  Append(0, 299);
  log_.reset();
  const std::string good = Bytes();
  for (size_t page = 0; page + kLogPageBytes <= kLogDataOffset + ends_.back();
       page += kLogPageBytes) {
    std::string bad = good;
    bad.replace(page, kLogPageBytes, kLogPageBytes, '\0');
    Write(bad);
    std::vector<std::string> records;
    const Status s = Read(0, &records);
    if (page == kLogEndOffset) {  // The records themselves show where they end.
      EXPECT_TRUE(s.ok());
      EXPECT_EQ(records, Expected(0, 299));
    } else {
      EXPECT_EQ(s.code(), StatusCode::kCorruption) << page;
    }
  }
}

TEST_F(ProcessLogTest, AFileThatIsCutShortIsCorruption) {
  Create();
  Append(0, 9);
  log_.reset();
  const std::string good = Bytes();
  for (const size_t bytes : {size_t{0}, size_t{100}, kLogPageBytes, kLogDataOffset,
                             kLogDataOffset + size_t{64}, good.size() - 1}) {
    Write(good.substr(0, bytes));
    std::vector<std::string> records;
    EXPECT_EQ(Read(0, &records).code(), StatusCode::kCorruption) << bytes;
  }
  std::filesystem::remove(Path());
  std::vector<std::string> records;
  EXPECT_EQ(Read(0, &records).code(), StatusCode::kNotFound);
}

TEST_F(ProcessLogTest, ALogOfAnotherStoreOrThatEndsBeforeTheDatabaseIsCorruption) {
  Create();
  Append(0, 9);
  ProcessLogContents contents;
  ASSERT_TRUE(ReadProcessLog(dir_.path(), 7, &contents).ok());
  MutationBatch unwritten;
  EXPECT_EQ(contents.AppendUnwritten({7, ends_.back() + 64, false}, kUuid, &unwritten).code(),
            StatusCode::kCorruption);
  const Status other = contents.AppendUnwritten({7, 0, false}, "another", &unwritten);
  EXPECT_EQ(other.code(), StatusCode::kCorruption);
  EXPECT_NE(other.message().find(kUuid), std::string::npos);
  // A running owner has appended and written more since the log was read.
  Append(10, 19);
  EXPECT_TRUE(contents.AppendUnwritten({7, ends_.back(), false}, kUuid, &unwritten).ok());
  EXPECT_TRUE(unwritten.empty());
}

TEST_F(ProcessLogTest, ACopyOfThisBootsLogMayNotLackRecordsInAnyBoot) {
  Create();
  Append(0, 9);
  ProcessLogContents copy;
  MutationBatch unwritten;
  ASSERT_NO_FATAL_FAILURE(Copy(&copy, &unwritten));
  EXPECT_EQ(copy.header().boot_id, "");
  EXPECT_FALSE(copy.MayLackRecords());
  EXPECT_EQ(unwritten.count(), 10U);
}

// As the original.
TEST_F(ProcessLogTest, ACopyOfAnotherBootsLogMayLackRecords) {
  Create("another-boot");
  Append(0, 9);
  log_.reset();
  std::string cut = Bytes();
  cut[kLogDataOffset + ends_[3] + 20] ^= 1;
  Write(cut);
  ProcessLogContents copy;
  MutationBatch unwritten;
  ASSERT_NO_FATAL_FAILURE(Copy(&copy, &unwritten));
  EXPECT_TRUE(copy.MayLackRecords());
  EXPECT_EQ(unwritten.count(), 4U);
}

TEST_F(ProcessLogTest, SalvageTakesTheRecordsBehindADamagedOneAndNeedsNoEnd) {
  Create();
  Append(0, 9);
  log_.reset();
  std::string bad = Bytes();
  bad.replace(kLogEndOffset, 8, 8, '\0');
  Write(bad);
  Gaps gaps;
  EXPECT_EQ(Salvaged(0, &gaps), Expected(0, 9));
  EXPECT_TRUE(gaps.empty());
  bad[kLogDataOffset + ends_[3] + 20] ^= 1;
  Write(bad);
  std::vector<std::string> expected = Expected(1, 3);
  for (const std::string& record : Expected(5, 9)) expected.push_back(record);
  EXPECT_EQ(Salvaged(ends_[0], &gaps), expected);
  EXPECT_EQ(gaps, (Gaps{{ends_[3], ends_[4]}}));
}

// The database has lost its position, and the ring was written several times since.
TEST_F(ProcessLogTest, SalvageTakesTheRecordsOfTheLastLap) {
  Create();
  int appended = 0;
  for (int lap = 0; lap < 3; ++lap) {
    log_->Release(log_->end());
    while (log_->Append(MutationsOf(appended))) ++appended;
  }
  Gaps gaps;
  const std::vector<std::string> records = Salvaged(8, &gaps);
  ASSERT_GT(records.size(), 100U);
  EXPECT_EQ(std::vector<std::string>(records.end() - 20, records.end()),
            Expected(appended - 20, appended - 1));
  ASSERT_FALSE(gaps.empty());
  EXPECT_EQ(gaps[0].first, 8U);
}

// A key can have any bytes, those of a record among them; and the record around it may be damaged.
TEST_F(ProcessLogTest, BytesOfAKeyAreNotTakenForARecord) {
  Create();
  const std::string inner = MutationsOf(666);
  const LogPosition at = log_->end() + 64;  // A multiple of 8, within the key.
  const LogRecordHeader header = EncodeLogRecordHeader(at, 0, inner);
  const std::string forged(48, 'k');
  ASSERT_TRUE(log_->Append(forged + std::string(header.data(), header.size()) + inner));
  Append(1, 3);
  std::string bad = Bytes();
  bad[kLogDataOffset + 20] ^= 1;
  Write(bad);
  Gaps gaps;
  EXPECT_EQ(Salvaged(0, &gaps), Expected(1, 3));
}

// Each record contains its position: in a lap that was begun, the records of the lap before it do
// not count.
TEST_F(ProcessLogTest, RecordsOfAnEarlierLapAreNotTaken) {
  Create("another-boot");
  int appended = 0;
  while (log_->Append(std::string(1000, static_cast<char>('a' + appended % 20)))) ++appended;
  const LogPosition lap = log_->end();
  log_->Release(lap);
  // Up to the end of the ring: so the next record begins where the first one did.
  ASSERT_TRUE(log_->Append(std::string(kCapacity - lap - kLogRecordHeaderBytes, 'z')));
  const LogPosition from = log_->end();
  ASSERT_EQ(from % kCapacity, 0U);
  std::vector<std::string> records;
  ASSERT_TRUE(Read(from, &records).ok());
  EXPECT_TRUE(records.empty()) << records.size();
}

// The mapping is not inherited: a child that used it would end by a signal, and not write.
TEST_F(ProcessLogTest, AForkedChildHasNoMapping) {
  Create();
  Append(0, 0);
  const pid_t child = fork();
  if (child == 0) {
    log_->Append(MutationsOf(1));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_NE(status, 0);  // SIGSEGV; a sanitizer exits instead.
  std::vector<std::string> records;
  ASSERT_TRUE(Read(0, &records).ok());
  EXPECT_EQ(records, Expected(0, 0));
}

TEST_F(ProcessLogTest, OnlyTheNamesOfLogsAreListed) {
  Create();
  for (const char* name : {"process-7.ring", "process-000008.ring.tmp", "process-x.ring",
                           "process-000012.ring", "000003.log"}) {
    support::WriteFile(dir_ / name, "x");
  }
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(ListProcessLogs(dir_.path(), &numbers).ok());
  EXPECT_EQ(numbers, (std::vector<uint64_t>{7, 12}));
}

TEST_F(ProcessLogTest, WithoutABootIdOrAKnownFileSystemThereIsNone) {
  EXPECT_EQ(ProcessLog::Create(dir_.path(), {kUuid, "", 7, kCapacity}, &log_).code(),
            StatusCode::kNotSupported);
  EXPECT_EQ(ProcessLog::Create("/proc/self", {kUuid, BootId(), 7, kCapacity}, &log_).code(),
            StatusCode::kIOError);
  EXPECT_EQ(log_, nullptr);
}

}  // namespace
}  // namespace wq::storage

#include "template_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "storage/open.h"
#include "storage/process_log.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000;

// Writes each batch to a store and to a store in memory, whose states are kept.
class Writing {
 public:
  explicit Writing(std::string name) { made_.name = std::move(name); }

  void Open(size_t buffer_bytes, size_t process_log_bytes = 0, size_t max_wal_bytes = 0) {
    storage_.reset();  // Like a killed owner.
    unwritten_.Clear();
    OpenOptions options{.create_if_missing = true, .now_us = kNow};
    options.write_buffer_bytes = buffer_bytes;
    options.max_wal_bytes = max_wal_bytes == 0 ? buffer_bytes : max_wal_bytes;
    options.process_log_bytes = process_log_bytes;
    ASSERT_OK(OpenStorage(dir_ / "store", options, &storage_));
    if (!made_.all_states.empty()) return;
    StoreRecord record;
    ASSERT_OK(GetStore(*storage_, &record));
    MutationBatch batch;
    PutStore(record, &batch);
    ASSERT_OK(memory_->Write(batch, false));
    Note();
    batch.Clear();
    PutQueue({"pods", 1, kNow}, &batch);
    PutQueueState(1, {.sequence_high_water = 1 << 20}, &batch);
    Write(batch);
  }

  // Pending keys from `first` on, some delayed, failing, quarantined or in another lane; some are
  // erased again.
  void Fill(uint64_t first, uint64_t count, size_t error_bytes) {
    for (uint64_t n = first; n < first + count; ++n) {
      MutationBatch batch;
      const std::string key = "namespace/key-" + std::to_string(n);
      const Lane lane = n % 3 == 0 ? kSlowLane : kFastLane;
      PutPending(1, {.key = key, .lane = lane, .sequence = n, .added_at_us = kNow}, &batch);
      if (n % 4 == 0) PutDelayed(1, {key, kNow + 1, 1'000'000, kNow, lane, "group"}, &batch);
      const std::string error(error_bytes, static_cast<char>('a' + n % 26));
      if (n % 2 == 0) PutFailures(1, {key, 1 + n, kNow, kNow + 5, error}, &batch);
      const std::string bad = "bad-" + std::to_string(n);
      if (n % 7 == 1) PutQuarantine(1, {{bad, 3, 1, 2, error}, kNow, lane, ""}, &batch);
      if (n % 5 == 4) ErasePending(1, lane, n, key, &batch);
      if (n % 10 == 1) PutTokens({.next = n}, &batch);
      if (n % 10 == 0) PutCursor(1, {"source", std::to_string(n)}, &batch);
      if (n % 8 == 0) PutSource(1, {.id = 1, .name = "s", .fingerprint = n}, &batch);
      // Without a version: a repair that loses anything empties it.
      if (n % 8 == 0) PutObject(1, {.source = 1, .object = key, .tombstone = error}, &batch);
      Write(batch);
    }
  }

  void Close() { ASSERT_OK(storage_->Close()); }

  // The present files, as a kill of the owner leaves them, and what is read from them.
  TemplateStore Now() {
    TemplateStore now = made_;
    now.files = ReadStore(dir_ / "store");
    EXPECT_OK(StateOf(*memory_, &now.state));
    return now;
  }

  TemplateStore Take() {
    storage_.reset();
    made_.files = ReadStore(dir_ / "store");
    EXPECT_OK(StateOf(*memory_, &made_.state));
    return std::move(made_);
  }

 private:
  void Write(MutationBatch& batch) {
    ProcessLog* const log = storage_->process_log();
    if (log == nullptr) {
      ASSERT_OK(storage_->Write(batch, false));
    } else {
      if (!log->Append(batch.mutations())) {
        WriteOut(log);
        ASSERT_TRUE(log->Append(batch.mutations()));
      }
      unwritten_.Append(batch);
    }
    ASSERT_OK(memory_->Write(batch, false));
    Note();
  }
  // As the journal: the database gets what only the process log has, and the position.
  void WriteOut(ProcessLog* log) {
    PutProcessLog({.number = log->number(), .position = log->end()}, &unwritten_);
    ASSERT_OK(storage_->Write(unwritten_, false));
    log->Release(log->end());
    unwritten_.Clear();
  }
  void Note() {
    std::string state;
    ASSERT_OK(StateOf(*memory_, &state));
    made_.all_states.insert(std::hash<std::string>()(state));
  }

  const Scratch dir_;
  std::unique_ptr<Storage> storage_;
  MutationBatch unwritten_;  // To the database.
  const std::unique_ptr<Storage> memory_ =
      std::make_unique<MemoryStorage>(std::make_shared<MemoryDisk>());
  TemplateStore made_;
};

constexpr size_t kSmallBuffer = size_t{64} << 10;
constexpr size_t kBuffer = size_t{4} << 20;
constexpr size_t kProcessLog = size_t{8} << 10;

}  // namespace

TemplateStore MakeAbandonedStore() {
  Writing writing("abandoned");
  writing.Open(kSmallBuffer);
  writing.Fill(1, 700, 400);
  return writing.Take();
}

TemplateStore MakeRecoveredStore() {
  Writing writing("recovered");
  writing.Open(kSmallBuffer);
  writing.Fill(1, 500, 400);
  writing.Open(kSmallBuffer);
  writing.Fill(501, 250, 400);
  return writing.Take();
}

TemplateStore MakeClosedStore() {
  Writing writing("closed");
  writing.Open(kSmallBuffer);
  writing.Fill(1, 300, 400);
  writing.Close();
  writing.Open(kSmallBuffer);
  writing.Fill(301, 100, 400);
  writing.Close();
  return writing.Take();
}

TemplateStore MakeSmallStore() {
  Writing writing("small");
  writing.Open(kBuffer);
  writing.Fill(1, 12, 10);
  return writing.Take();
}

TemplateStore MakeSmallClosedStore() {
  Writing writing("small-closed");
  writing.Open(kBuffer);
  writing.Fill(1, 12, 10);
  writing.Close();
  return writing.Take();
}

TemplateStore MakeLoggedStore() {
  Writing writing("logged");
  writing.Open(kSmallBuffer, kProcessLog);
  writing.Fill(1, 500, 400);
  writing.Open(kSmallBuffer, kProcessLog);
  writing.Fill(501, 250, 400);
  return writing.Take();
}

TemplateStore MakeSmallLoggedStore() {
  Writing writing("small-logged");
  writing.Open(kBuffer, kProcessLog / 2);
  writing.Fill(1, 40, 10);
  return writing.Take();
}

TemplateStore MakeManyLogsStore() {
  Writing writing("many-logs");
  writing.Open(kSmallBuffer, kProcessLog, kBuffer);
  writing.Fill(1, 500, 400);
  return writing.Take();
}

std::vector<TemplateStore> AllTemplateStores() {
  std::vector<TemplateStore> stores;
  for (const auto make :
       {MakeAbandonedStore, MakeRecoveredStore, MakeClosedStore, MakeSmallStore,
        MakeSmallClosedStore, MakeLoggedStore, MakeSmallLoggedStore, MakeManyLogsStore}) {
    stores.push_back(make());
  }
  return stores;
}

std::vector<TemplateStore> MakeAgingLoggedStore() {
  Writing writing("aging-logged");
  std::vector<TemplateStore> ages;
  uint64_t next = 1;
  for (int owner = 0; owner < 3; ++owner) {
    writing.Open(kSmallBuffer, kProcessLog);
    for (const uint64_t count : {3U, 40U, 7U, 2U, 90U, 1U}) {
      writing.Fill(next, count, 400);
      next += count;
      ages.push_back(writing.Now());
      ages.back().name += "-" + std::to_string(ages.size());
    }
  }
  return ages;
}

void WriteStore(const Files& files, const std::string& dir, const Files& dir_holds) {
  if (dir_holds.empty()) {
    std::filesystem::remove_all(dir);
    ASSERT_EQ(mkdir(dir.c_str(), 0700), 0);
  }
  for (const auto& [name, contents] : dir_holds) {
    if (!files.contains(name)) std::filesystem::remove(dir + "/" + name);
  }
  for (const auto& [name, contents] : files) {
    const auto there = dir_holds.find(name);
    if (there != dir_holds.end() && there->second == contents) continue;
    const int fd = open((dir + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, contents.data(), contents.size()), static_cast<ssize_t>(contents.size()));
    close(fd);
  }
}

Files ReadStore(const std::string& dir) {
  Files files;
  for (const std::string& name : FilesIn(dir)) {
    std::string& contents = files[name];
    const int fd = open((dir + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {  // A compaction of the open store has removed it.
      files.erase(name);
      continue;
    }
    struct stat info = {};
    EXPECT_EQ(fstat(fd, &info), 0);
    contents.resize(static_cast<size_t>(info.st_size));
    EXPECT_EQ(read(fd, contents.data(), contents.size()), info.st_size);
    close(fd);
  }
  return files;
}

Status StateOf(const Reader& reader, std::string* state) {
  state->clear();
  for (int family = 0; family < kFamilyCount; ++family) {
    Status status =
        reader.Scan(static_cast<Family>(family), "", "", [&](auto key, std::string_view value) {
          if (key == kProcessLogKey) return true;  // It is different after each opening.
          state->append(std::to_string(family)).append(" ").append(key);
          state->append("=").append(value).append("\n");
          return true;
        });
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace wq::storage

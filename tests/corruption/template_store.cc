#include "template_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "storage/open.h"
#include "storage/process_log.h"
#include "storage/record_keys.h"
#include "storage/records.h"
#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000;

// In bytes; an error is that of a failure.
struct Sizes {
  size_t buffer = 64 << 10;
  size_t process_log = 0;  // 0: none.
  size_t max_wal = buffer;
  size_t error = 400;
};

// Writes each batch to a store and to a store in memory, whose states are kept.
class Writing {
 public:
  Writing(const std::string& name, const Sizes& sizes) : sizes_(sizes) { made_.name = name; }

  void Open() {
    storage_.reset();  // Like a killed owner.
    unwritten_.Clear();
    OpenOptions options{.create_if_missing = true, .now_us = kNow};
    options.write_buffer_bytes = sizes_.buffer;
    options.max_wal_bytes = sizes_.max_wal;
    options.process_log_bytes = sizes_.process_log;
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

  // More pending keys, some delayed, failing, quarantined or in another lane; some are erased
  // again.
  void Fill(uint64_t count) {
    for (const uint64_t end = next_ + count; next_ < end; ++next_) {
      const uint64_t n = next_;
      MutationBatch batch;
      const std::string key = "namespace/key-" + std::to_string(n);
      const Lane lane = n % 3 == 0 ? kSlowLane : kFastLane;
      PutPending(1, {.key = key, .lane = lane, .sequence = n, .added_at_us = kNow}, &batch);
      if (n % 4 == 0) PutDelayed(1, {key, kNow + 1, 1'000'000, kNow, lane, "group"}, &batch);
      const std::string error(sizes_.error, static_cast<char>('a' + n % 26));
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
    return Now();
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

  const Sizes sizes_;
  const Scratch dir_;
  uint64_t next_ = 1;  // Key.
  std::unique_ptr<Storage> storage_;
  MutationBatch unwritten_;  // To the database.
  const std::unique_ptr<Storage> memory_ =
      std::make_unique<MemoryStorage>(std::make_shared<MemoryDisk>());
  TemplateStore made_;
};

constexpr Sizes kLarge;
constexpr Sizes kSmall{.buffer = 4 << 20, .error = 10};
constexpr Sizes kLogged{.process_log = 8 << 10};

struct Owner {
  uint64_t keys;
  bool closes = false;  // Otherwise it is killed.
};

TemplateStore Make(const std::string& name, const Sizes& sizes, const std::vector<Owner>& owners) {
  Writing writing(name, sizes);
  for (const Owner& owner : owners) {
    writing.Open();
    writing.Fill(owner.keys);
    if (owner.closes) writing.Close();
  }
  return writing.Take();
}

}  // namespace

TemplateStore MakeAbandonedStore() { return Make("abandoned", kLarge, {{700}}); }

TemplateStore MakeRecoveredStore() { return Make("recovered", kLarge, {{500}, {250}}); }

TemplateStore MakeClosedStore() { return Make("closed", kLarge, {{300, true}, {100, true}}); }

TemplateStore MakeSmallStore() { return Make("small", kSmall, {{12}}); }

TemplateStore MakeSmallClosedStore() { return Make("small-closed", kSmall, {{12, true}}); }

TemplateStore MakeLoggedStore() { return Make("logged", kLogged, {{500}, {250}}); }

TemplateStore MakeSmallLoggedStore() {
  return Make("small-logged", {.buffer = 4 << 20, .process_log = 4 << 10, .error = 10}, {{40}});
}

TemplateStore MakeManyLogsStore() {
  return Make("many-logs", {.process_log = 8 << 10, .max_wal = 4 << 20}, {{500}});
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
  Writing writing("aging-logged", kLogged);
  std::vector<TemplateStore> ages;
  for (int owner = 0; owner < 3; ++owner) {
    writing.Open();
    for (const uint64_t count : {3U, 40U, 7U, 2U, 90U, 1U}) {
      writing.Fill(count);
      ages.push_back(writing.Now());
      ages.back().name += "-" + std::to_string(ages.size());
    }
  }
  return ages;
}

std::string ProcessLogOf(const Files& files) {
  for (const auto& [name, contents] : files) {
    if (name.ends_with(".ring")) return name;
  }
  return "";
}

void MakeStore(const std::string& dir, const std::function<void(MutationBatch*)>& put) {
  std::filesystem::remove_all(dir);
  std::unique_ptr<Storage> storage;
  ASSERT_OK(OpenNew(dir, &storage));
  MutationBatch batch;
  put(&batch);
  ASSERT_OK(storage->Write(batch, false));
  ASSERT_OK(storage->Close());
}

std::string FoundIn(const std::string& dir) {
  VerifyReport report;
  EXPECT_OK(Verify(dir, {}, &report));
  return LinesOf(report.findings);
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
    WriteFile(dir + "/" + name, contents);
  }
}

AllRows RowsIn(const std::string& dir) {
  AllRows rows;
  std::unique_ptr<Reader> reader;
  EXPECT_OK(OpenReader(dir, &reader));
  for (int i = 0; reader != nullptr && i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    EXPECT_OK(reader->Scan(family, "", "", [&](std::string_view key, std::string_view value) {
      if (key != kStoreKey && key != kProcessLogKey) rows.emplace(std::pair(family, key), value);
      return true;
    }));
  }
  return rows;
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

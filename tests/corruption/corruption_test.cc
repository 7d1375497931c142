// Damage to a store's files. Whatever is damaged, an opening shows the same state, or returns
// Corruption that names the file, says each thing once and what to do next, and changes nothing. A
// log that is cut off at its end is what a killed writer leaves: then an earlier state is right.
//
//   WQ_SEED=1    which damages are drawn
//   WQ_CORRUPTION_CASES=n   how many; 0: all damages
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <vector>

#include "refusal.h"
#include "storage/open.h"
#include "template_store.h"
#include "tests/storage/support.h"
#include "tests/support/environment.h"
#include "wq/verify.h"

namespace wq::storage {
namespace {

using support::FromEnvironment;

#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kCases = 300;  // Three times as slow.
constexpr size_t kByteStep = 8;
#else
constexpr uint64_t kCases = 1000;
constexpr size_t kByteStep = 1;
#endif

struct Damage {
  enum class Kind : uint8_t { kFlip, kCut };
  Kind kind;
  const TemplateStore* store;
  std::string file;
  size_t at;
  int bit;
};

std::string Describe(const Damage& damage) {
  std::string text = damage.store->name + ", " + damage.file;
  if (damage.kind == Damage::Kind::kCut) return text + " cut to " + std::to_string(damage.at);
  return text + ", bit " + std::to_string(damage.bit) + " of byte " + std::to_string(damage.at);
}

// The present case, in case that an assert of RocksDB ends the process.
std::string under_way;  // NOLINT(cert-err58-cpp)

extern "C" void PrintCase(int) {
  const std::string text = "aborted at: " + under_way + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

bool IsProcessLog(const std::string& name) { return name.ends_with(".ring"); }

// With a process log, what the database has lost is noticed.
bool HasProcessLog(const Files& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const auto& file) { return IsProcessLog(file.first); });
}

bool IsLog(const std::string& name) { return name.ends_with(".log"); }

// The expected outcome of one case.
struct Expected {
  std::string file;                                   // That Corruption names; empty: any.
  std::function<bool(const std::string& state)> may;  // Whether the state may be shown.
  std::string or_file = {};                           // That it may name instead.
};

class CorruptionTest : public ::testing::Test {
 protected:
  // Opens a store of these files as a reader and as the owner.
  void Check(const Files& files, const Expected& expected) {
    WriteStore(files, store_, holds_);
    holds_ = files;
    std::unique_ptr<Reader> reader;
    const Status read = OpenReader(store_, &reader);
    Judge(read, reader.get(), expected, "reader");
    reader.reset();
    if (read.ok()) {
      ASSERT_TRUE(ReadStore(store_) == files) << "a reader changed the store";
    }
    std::unique_ptr<Storage> storage;
    OpenOptions options;
    options.write_buffer_bytes = size_t{64} << 10;  // Also the space that is reserved on the disk.
    const Status opened = OpenStorage(store_, options, &storage);
    Judge(opened, storage.get(), expected, "owner");
    storage.reset();
    if (opened.ok()) {
      ++same_;
      holds_.clear();
    } else {
      ++refused_;
      ASSERT_TRUE(ReadStore(store_) == files)
          << "changed, though it was refused: " << opened.message();
    }
  }

  // Verify finds something in the store that was opened last if its opening was refused.
  void ExpectVerifyAgrees(const Files& files) {
    const bool was_opened = holds_.empty();
    WriteStore(files, store_, holds_);
    holds_ = files;
    VerifyReport report;
    const Status verified = Verify(store_, {}, &report);
    EXPECT_EQ(verified.ok() && report.ok(), was_opened) << LinesOf(report.findings);
    // Damage may change the version in a file to another version.
    EXPECT_TRUE(verified.ok() || verified.code() == StatusCode::kNotSupported)
        << verified.ToString();
    EXPECT_TRUE(ReadStore(store_) == files) << "it changed the store";
  }

  const Scratch scratch_;
  const std::string store_ = scratch_ / "store";
  Files holds_;  // The files in store_; empty if they are not known.
  uint64_t same_ = 0;
  uint64_t refused_ = 0;

 private:
  void Judge(const Status& opened, const Reader* reader, const Expected& expected,
             const char* opener) {
    std::string state;
    Status status = opened.ok() ? StateOf(*reader, &state) : opened;
    if (status.ok()) {
      EXPECT_TRUE(expected.may(state)) << opener << ": silent loss";
      return;
    }
    // Damage may change the version in a file to another version.
    if (status.code() == StatusCode::kNotSupported &&
        (expected.file == "FORMAT" || IsProcessLog(expected.file))) {
      EXPECT_NE(status.message().find(expected.file), std::string::npos) << status.message();
      return;
    }
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << opener << ": " << status.ToString();
    std::set<std::string> files = {expected.file};
    if (!expected.or_file.empty()) files.insert(expected.or_file);
    if (expected.file.empty()) {
      files.clear();
      for (const auto& [name, contents] : holds_) files.insert(name);
    }
    EXPECT_EQ(FaultOfRefusal(store_, files, status.message(), /*is_row=*/opened.ok()), "")
        << opener;
  }
};

// One bit in every byte, and every length, of every file; or, if `cases` is not 0, that many of
// these, spread evenly over the files.
template <typename Visit>
void ForEachDamage(const std::vector<TemplateStore>& stores, uint64_t cases,
                   std::mt19937_64* random, const Visit& visit) {
  const auto count = [](const TemplateStore& store) {
    // Not the files LOG*, which RocksDB writes for people to read.
    return static_cast<uint64_t>(std::count_if(
        store.files.begin(), store.files.end(),
        [](const auto& file) { return !file.first.starts_with("LOG") && !file.second.empty(); }));
  };
  uint64_t all_files = 0;
  for (const TemplateStore& store : stores) all_files += count(store);
  const uint64_t cases_a_file = cases / (2 * all_files) + 1;
  for (const TemplateStore& store : stores) {
    for (const auto& [name, contents] : store.files) {
      if (name.starts_with("LOG")) continue;
      const uint64_t places = contents.size();
      const uint64_t end = cases == 0 ? places : std::min(places, cases_a_file);
      for (uint64_t n = 0; n < end; ++n) {
        for (const auto kind : {Damage::Kind::kFlip, Damage::Kind::kCut}) {
          const uint64_t at = end == places ? n : (*random)() % places;
          visit(Damage{kind, &store, name, at, static_cast<int>((*random)() % 8)});
        }
      }
    }
  }
}

// The log to which a killed writer was writing: the last one that is not empty.
std::string LastLog(const Files& files) {
  std::string last;
  for (const auto& [name, contents] : files) {
    if (IsLog(name) && !contents.empty()) last = name;
  }
  return last;
}

TEST_F(CorruptionTest, AFlippedBitOrACutFileIsRefusedOrChangesNothing) {
  const uint64_t seed = support::Seed();
  const uint64_t cases = FromEnvironment("WQ_CORRUPTION_CASES", kCases);
  std::cout << "WQ_SEED=" << seed << " WQ_CORRUPTION_CASES=" << cases << std::endl;
  std::signal(SIGABRT, PrintCase);
  std::mt19937_64 random(seed);
  const std::vector<TemplateStore> stores = AllTemplateStores();
  uint64_t number = 0;
  ForEachDamage(stores, cases, &random, [this, &number](const Damage& damage) {
    if (HasFailure()) return;
    under_way = Describe(damage);
    SCOPED_TRACE(under_way);
    const TemplateStore& store = *damage.store;
    Files files = store.files;
    std::string& contents = files[damage.file];
    const bool is_cut = damage.kind == Damage::Kind::kCut;
    const bool at_the_end =
        is_cut && damage.file == LastLog(store.files) && !HasProcessLog(store.files);
    if (is_cut) {
      contents.resize(damage.at);
    } else {
      contents[damage.at] = static_cast<char>(contents[damage.at] ^ (1 << damage.bit));
    }
    Expected expected;
    expected.file = damage.file;
    expected.may = [&store, at_the_end](const std::string& state) {
      return state == store.state ||
             (at_the_end && store.all_states.contains(std::hash<std::string>()(state)));
    };
    Check(files, expected);
    if (++number % 5 == 0 && !is_cut) ExpectVerifyAgrees(files);
  });
  std::cout << "total: " << same_ + refused_ << " damaged stores, " << refused_ << " refused, "
            << same_ << " shown as they were" << std::endl;
  EXPECT_GT(refused_, same_);
  EXPECT_TRUE(cases == 0 || same_ + refused_ > cases * 3 / 4) << "too few";
}

// RocksDB uses the end of a table, and its properties, before it checks their checksums.
TEST_F(CorruptionTest, EveryBitOfATableIsGuarded) {
  std::signal(SIGABRT, PrintCase);
  constexpr size_t kEnd = 53;
  const bool all = FromEnvironment("WQ_CORRUPTION_CASES", 1) == 0;
  const TemplateStore store = MakeSmallClosedStore();
  const auto table = std::find_if(store.files.begin(), store.files.end(),
                                  [](const auto& file) { return file.first.ends_with(".sst"); });
  ASSERT_NE(table, store.files.end());
  const size_t bytes = table->second.size();
  for (size_t at = 0; at < bytes && !HasFailure();
       at += all || at >= bytes - kEnd ? 1 : kByteStep) {
    // The seventh bit of a block's last byte: the block has a hash index.
    for (int bit = all || at >= bytes - kEnd ? 0 : 7; bit < 8; ++bit) {
      under_way = Describe({Damage::Kind::kFlip, &store, table->first, at, bit});
      SCOPED_TRACE(under_way);
      Files files = store.files;
      char& damaged = files[table->first][at];
      damaged = static_cast<char>(damaged ^ (1 << bit));
      Check(files, {table->first, [&](const std::string& state) { return state == store.state; }});
    }
  }
  EXPECT_GT(refused_, bytes / kByteStep / 2);
}

// The log before one that is missing. RocksDB names a new log in the manifest with the next table
// only: until then nothing shows the number of the missing one, and a refusal says that records are
// missing behind the log before it, or that this one is cut off or a later one is missing.
std::string LogBefore(const Files& files, const std::string& missing) {
  std::string before;
  for (const auto& [name, contents] : files) {
    if (IsLog(name) && name < missing) before = name;
  }
  return before;
}

TEST_F(CorruptionTest, AMissingFileIsRefusedOrChangesNothing) {
  for (const TemplateStore& store : AllTemplateStores()) {
    for (const auto& [name, contents] : store.files) {
      SCOPED_TRACE(store.name + " without " + name);
      Files files = store.files;
      files.erase(name);
      // Nothing shows that the last log is missing or was not empty.
      const bool at_the_end = name == LastLog(store.files) && !HasProcessLog(store.files);
      Check(files,
            {name,
             [&](const std::string& state) {
               return state == store.state ||
                      (at_the_end && store.all_states.contains(std::hash<std::string>()(state)));
             },
             IsLog(name) ? LogBefore(files, name) : ""});
    }
  }
  EXPECT_GT(refused_, 50U);
  EXPECT_GT(same_, 20U);
}

// A file of another store, under the name of a file of this store or under another name.
TEST_F(CorruptionTest, AForeignFileIsRefusedOrChangesNothing) {
  const std::vector<TemplateStore> stores = AllTemplateStores();
  for (size_t n = 0; n < stores.size(); ++n) {
    const TemplateStore& store = stores[n];
    const TemplateStore& other = stores[(n + 1) % stores.size()];
    const Expected same{"", [&store](const std::string& state) { return state == store.state; }};
    for (const auto& [name, contents] : other.files) {
      const size_t dot = name.find('.');
      const std::string suffix = dot == name.npos ? "" : name.substr(dot);
      const bool numbered = suffix == ".log" || suffix == ".sst";
      for (const std::string& as : {name, numbered ? "999999" + suffix : "photo-" + name}) {
        SCOPED_TRACE(store.name + " with " + as + ", which is " + name + " of " + other.name);
        Files files = store.files;
        files[as] = contents;
        Check(files, same);
      }
    }
  }
  EXPECT_GT(refused_, 10U);  // The number of files depends on when the store was flushed.
  EXPECT_GT(same_, 10U);
}

bool IsAState(const TemplateStore& store, const std::string& state) {
  return store.all_states.contains(std::hash<std::string>()(state));
}

// A file of an earlier instant of the same store. The write-ahead log may be older, since the
// process log has what it lacks, or shows that something is missing. Nothing shows that the process
// log itself is an older one, if it is not older than the database: then an earlier state is right.
TEST_F(CorruptionTest, AnOlderFileOfTheSameStoreIsRefusedOrChangesNothing) {
  const std::vector<TemplateStore> ages = MakeAgingLoggedStore();
  for (size_t now = 1; now < ages.size(); ++now) {
    for (size_t then = 0; then < now; ++then) {
      for (const auto& [name, contents] : ages[then].files) {
        const auto found = ages[now].files.find(name);
        if (name.starts_with("LOG") || found == ages[now].files.end() ||
            found->second == contents) {
          continue;
        }
        SCOPED_TRACE(name + " of " + ages[then].name + " in " + ages[now].name);
        Files files = ages[now].files;
        files[name] = contents;
        const bool is_log = IsProcessLog(name);
        Check(files, {"", [&](const std::string& state) {
                        const bool not_before_then =
                            state == ages[then].state || !IsAState(ages[then], state);
                        return state == ages[now].state ||
                               (is_log && not_before_then && IsAState(ages[now], state));
                      }});
      }
    }
  }
  EXPECT_GT(refused_, 50U);
  EXPECT_GT(same_, 10U);
}

// All files but the process logs are of an earlier owner: the later one's log shows it.
TEST_F(CorruptionTest, AProcessLogWithoutItsDatabaseIsRefused) {
  const std::vector<TemplateStore> ages = MakeAgingLoggedStore();
  const TemplateStore& last = ages.back();
  for (size_t then = 0; then + 6 < ages.size(); ++then) {
    SCOPED_TRACE(ages[then].name);
    Files files = ages[then].files;
    for (const auto& [name, contents] : last.files) {
      if (IsProcessLog(name)) files[name] = contents;
    }
    Check(files, {"", [](const std::string&) { return false; }});
  }
  EXPECT_EQ(same_, 0U);
}

}  // namespace
}  // namespace wq::storage

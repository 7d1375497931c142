// Files of a store that are lost, one or two at once, from stores in all their states: whoever then
// starts the store twice, as its maker would, has all of it, or is refused and has changed nothing.
#include <algorithm>
#include <filesystem>

#include "storage/open.h"
#include "storage/process_log.h"
#include "storage/records.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

// How the store was made, which says where its queues are.
enum class Made { kNeverUsed, kClosed, kLogOnly, kProcessLogOnly, kAllPlaces, kClosedTwice };
constexpr Made kAllMade[] = {Made::kNeverUsed,      Made::kClosed,    Made::kLogOnly,
                             Made::kProcessLogOnly, Made::kAllPlaces, Made::kClosedTwice};
constexpr const char* kLosses[] = {"FORMAT", "CURRENT", "MANIFEST-", ".log",
                                   "OWNER",  ".sst",    ".ring"};

class LostFilesTest : public ::testing::Test {
 protected:
  static Status Start(const std::string& dir, std::unique_ptr<Storage>* storage) {
    return OpenStorage(dir, {.create_if_missing = true, .process_log_bytes = 16384, .now_us = 1},
                       storage);
  }

  static void AddQueue(const std::string& name, uint32_t id, Storage* storage, bool to_database) {
    MutationBatch batch;
    PutQueue({name, id, id}, &batch);
    if (to_database || storage->process_log() == nullptr) {
      ASSERT_OK(storage->Write(batch, /*sync=*/true));
    } else {
      ASSERT_TRUE(storage->process_log()->Append(batch.mutations()));
    }
  }

  static void MakeStore(const std::string& dir, Made made) {
    std::unique_ptr<Storage> storage;
    ASSERT_OK(Start(dir, &storage));
    if (made == Made::kClosed || made == Made::kAllPlaces || made == Made::kClosedTwice) {
      AddQueue("in a table", 1, storage.get(), true);
      ASSERT_OK(storage->Close());
      ASSERT_OK(Start(dir, &storage));
    }
    if (made == Made::kLogOnly || made == Made::kAllPlaces) {
      AddQueue("in the log", 2, storage.get(), true);
    }
    if (made == Made::kProcessLogOnly || made == Made::kAllPlaces) {
      AddQueue("in the process log", 3, storage.get(), false);
    }
    if (made == Made::kClosed || made == Made::kClosedTwice) {
      ASSERT_OK(storage->Close());
    }
    if (made == Made::kClosedTwice) {
      ASSERT_OK(Start(dir, &storage));
      ASSERT_OK(storage->Close());
    }
    // Otherwise its owner ends without closing it.
  }

  // The files that are lost together: of the logs the newest, all others of their kind.
  static std::vector<std::string> Lost(const std::string& dir, const std::string& what) {
    std::vector<std::string> lost;
    for (const std::string& name : FilesIn(dir)) {
      if (name.starts_with(what) || (what.starts_with('.') && name.ends_with(what))) {
        lost.push_back(name);
      }
    }
    if (what == ".log" && lost.size() > 1) lost.erase(lost.begin(), lost.end() - 1);
    return lost;
  }

  static std::string Queues(const Reader& reader) {
    std::string names;
    EXPECT_OK(ScanQueues(reader, [&names](const QueueRecord& queue) {
      names += queue.name + ", ";
      return true;
    }));
    return names;
  }

  // Two starts of a store that had `queues`. Counts the openings and the refusals.
  void StartTwice(const std::string& dir, const std::string& queues) {
    const support::Files before = support::ReadFiles(dir);
    for (int start = 0; start < 2; ++start) {
      std::unique_ptr<Storage> storage;
      const Status status = Start(dir, &storage);
      if (status.ok()) {
        EXPECT_EQ(Queues(*storage), queues) << "start " << start;
        EXPECT_OK(storage->Close());
        ++opened_;
        continue;
      }
      ++refused_;
      EXPECT_TRUE(support::ReadFiles(dir) == before)
          << "start " << start << " changed files: " << status.message();
    }
  }

  const TestDirectory dir_;
  int opened_ = 0;
  int refused_ = 0;
};

TEST_F(LostFilesTest, TwoStartsHaveEverythingOrChangeNothing) {
  int number = 0;
  for (const Made made : kAllMade) {
    const std::string whole = dir_ / ("whole" + std::to_string(number));
    MakeStore(whole, made);
    std::unique_ptr<Reader> reader;
    ASSERT_OK(OpenReader(whole, &reader));
    const std::string queues = Queues(*reader);
    for (size_t first = 0; first < std::size(kLosses); ++first) {
      for (size_t second = first; second < std::size(kLosses); ++second) {
        const std::string dir = dir_ / ("store" + std::to_string(number++));
        std::filesystem::copy(whole, dir);
        for (const char* what : {kLosses[first], kLosses[second]}) {
          for (const std::string& name : Lost(whole, what)) {
            std::filesystem::remove(dir + "/" + name);
          }
        }
        SCOPED_TRACE("state " + std::to_string(static_cast<int>(made)) + " without " +
                     kLosses[first] + " and " + kLosses[second]);
        StartTwice(dir, queues);
        std::filesystem::remove_all(dir);
      }
    }
  }
  EXPECT_GT(opened_, 20);
  EXPECT_GT(refused_, 100);
}

TEST_F(LostFilesTest, WithoutFormatAndCurrentTheErrorNamesBoth) {
  const std::string store = dir_ / "store";
  MakeStore(store, Made::kClosed);
  std::filesystem::remove(store + "/FORMAT");
  std::filesystem::remove(store + "/CURRENT");
  std::unique_ptr<Storage> storage;
  EXPECT_STATUS(kCorruption, store + "/FORMAT and CURRENT are missing", Start(store, &storage));
  std::unique_ptr<Reader> reader;
  EXPECT_STATUS(kCorruption, "FORMAT and CURRENT are missing", OpenReader(store, &reader));
}

TEST_F(LostFilesTest, WithoutFormatAManifestThatIsCutAnywhereNeverLosesTables) {
  const std::string whole = dir_ / "whole";
  MakeStore(whole, Made::kClosedTwice);
  std::filesystem::remove(whole + "/FORMAT");
  const std::string manifest = Lost(whole, "MANIFEST-").back();
  const auto bytes = std::filesystem::file_size(whole + "/" + manifest);
  for (uintmax_t cut = 0; cut < bytes; cut += 13) {
    SCOPED_TRACE("cut at " + std::to_string(cut));
    const std::string dir = dir_ / "store";
    std::filesystem::copy(whole, dir);
    std::filesystem::resize_file(dir + "/" + manifest, cut);
    StartTwice(dir, "in a table, ");
    std::filesystem::remove_all(dir);
  }
  EXPECT_GT(refused_, 0);
}

}  // namespace
}  // namespace wq::storage

#include "storage/directory/steady_view.h"

#include "tests/storage/support.h"

namespace wq::storage {
namespace {

class SteadyViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteFile(dir_ / "CURRENT", "MANIFEST-000001\n");
    WriteFile(dir_ / "MANIFEST-000001", "x");
    WriteFile(dir_ / "000002.log", "");
  }
  FilesState State() const { return FilesState::Of(dir_.path()); }

  const TestDirectory dir_;
};

TEST_F(SteadyViewTest, ComparesFilesManifestAndLogs) {
  const FilesState before = State();
  EXPECT_EQ(State(), before);

  WriteFile(dir_ / "000003.log", "");
  EXPECT_NE(State(), before);
  EXPECT_TRUE(State().HasAllLogsOf(before));
  EXPECT_FALSE(before.HasAllLogsOf(State()));
  EXPECT_TRUE(State().SameManifest(before));

  WriteFile(dir_ / "MANIFEST-000001", "xy");
  EXPECT_FALSE(State().SameManifest(before));
  WriteFile(dir_ / "MANIFEST-000001", "x");
  EXPECT_TRUE(State().SameManifest(before));

  std::filesystem::remove(dir_ / "000002.log");
  EXPECT_FALSE(State().HasAllLogsOf(before));
}

TEST_F(SteadyViewTest, ReadsUntilAnOutcomeCounts) {
  int reads = 0;
  const auto read = [&] {
    // As an owner that makes a new log during each of the first reads.
    if (++reads < 3) WriteFile(dir_ / ("00001" + std::to_string(reads) + ".log"), "");
    return Status::Corruption("read " + std::to_string(reads));
  };
  const auto unchanged = [](const Status&, const FilesState& before, const FilesState& after) {
    return after == before;
  };
  EXPECT_STATUS(kCorruption, "read 3", ReadSteadily(dir_.path(), read, unchanged));
  EXPECT_EQ(reads, 3);
}

TEST_F(SteadyViewTest, AnOwnerThatIsTooBusyIsAnError) {
  int reads = 0;
  EXPECT_STATUS(kIOError, "too busy for a steady view",
                ReadSteadily(
                    dir_.path(),
                    [&reads] {
                      ++reads;
                      return Status::Ok();
                    },
                    [](const Status&, const FilesState&, const FilesState&) { return false; }, 7));
  EXPECT_EQ(reads, 7);
}

}  // namespace
}  // namespace wq::storage

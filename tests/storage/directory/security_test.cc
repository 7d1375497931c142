// What an attacker could put in a store's place: links, pipes, foreign directories,
// file modes that let others in. docs/testing.md lists all rules and where each is tested.
#include <sys/stat.h>
#include <unistd.h>

#include "storage/open.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

class SecurityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::unique_ptr<Storage> storage;
    ASSERT_OK(OpenNew(store_, &storage));
    ASSERT_OK(Put(storage.get(), Family::kDirty, "k", "v"));
    ASSERT_OK(storage->Close());
  }
  std::string First(std::string_view prefix, std::string_view suffix) {
    for (const std::string& name : FilesIn(store_)) {
      if (name.starts_with(prefix) && name.ends_with(suffix)) return name;
    }
    ADD_FAILURE() << "no such file";
    return {};
  }
  // Of a link, the bytes of its target.
  support::Files Contents() { return support::ReadFiles(store_); }
  // Neither an owner nor a reader opens the store, and no file or link target is changed.
  void ExpectRefused(const support::Files& before) {
    std::unique_ptr<Storage> storage;
    std::unique_ptr<Reader> reader;
    EXPECT_FALSE(OpenExisting(store_, &storage).ok());
    EXPECT_FALSE(OpenReader(store_, &reader).ok());
    EXPECT_TRUE(before.empty() || Contents() == before) << "it was changed";
  }

  const TestDirectory dir_;
  const std::string store_ = dir_ / "store";
};

// A link is not followed, and a pipe not opened, which would wait for a writer without a limit.
TEST_F(SecurityTest, ALinkOrAPipeInPlaceOfAFileIsRefused) {
  const std::string kept = dir_ / "kept";
  for (const std::string& name : {std::string("FORMAT"), std::string("CURRENT"),
                                  First("MANIFEST-", ""), First("", ".log"), First("", ".sst")}) {
    SCOPED_TRACE(name);
    const std::string path = store_ + "/" + name;
    std::filesystem::rename(path, kept);
    ASSERT_EQ(symlink(kept.c_str(), path.c_str()), 0);
    ExpectRefused(Contents());
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    if (!name.ends_with(".log")) ExpectRefused({});
    std::filesystem::remove(path);
    std::filesystem::rename(kept, path);
  }
  std::unique_ptr<Storage> storage;
  EXPECT_OK(OpenExisting(store_, &storage));
}

// Other users may not list the directory, whatever the process's umask is.
TEST_F(SecurityTest, TheDirectoryIsPrivateUnderAnyUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    const std::string made = dir_ / ("made-" + std::to_string(mask));
    const mode_t before = umask(mask);
    std::unique_ptr<Storage> storage;
    EXPECT_OK(OpenNew(made, &storage));
    umask(before);
    struct stat info = {};
    ASSERT_EQ(lstat(made.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0700U);
  }
}

}  // namespace
}  // namespace wq::storage

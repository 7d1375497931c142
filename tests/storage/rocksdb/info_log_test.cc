#include "storage/rocksdb/info_log.h"

#include <rocksdb/env.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/storage/support.h"

namespace wq::storage {
namespace {

TEST(InfoLog, IsALineAMessageAndPrivate) {
  const TestDirectory dir;
  const auto log = OpenInfoLog(dir / "");
  rocksdb::Warn(log, "one %d", 1);
  rocksdb::Error(log, "two\n");
  rocksdb::Info(log, "not worth a line");
  const std::string text = ReadFile(dir / "LOG");
  EXPECT_NE(text.find("Z [WARN] one 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Z [ERROR] two\n"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  struct stat info = {};
  ASSERT_EQ(stat((dir / "LOG").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(InfoLog, IsBoundedAndGoesOnAfterARestart) {
  const TestDirectory dir;
  const std::string message(1000, 'x');
  for (int restart = 0; restart < 5; ++restart) {
    const auto log = OpenInfoLog(dir / "");
    for (int i = 0; i < 1000; ++i) rocksdb::Warn(log, "%s", message.c_str());
  }
  EXPECT_EQ(FilesIn(dir / ""), (std::vector<std::string>{"LOG", "LOG.old.1"}));
  EXPECT_LT(ReadFile(dir / "LOG").size(), kMaxLogBytes + 5000);
  EXPECT_LT(ReadFile(dir / "LOG.old.1").size(), kMaxLogBytes + 5000);
}

TEST(InfoLog, DropsWhatItCannotWrite) {
  const TestDirectory dir;
  WriteFile(dir / "target", "precious");
  ASSERT_EQ(symlink("target", (dir / "LOG").c_str()), 0);
  const auto log = OpenInfoLog(dir / "");
  rocksdb::Warn(log, "one");
  rocksdb::Warn(log, "two");
  EXPECT_EQ(ReadFile(dir / "target"), "precious");
}

}  // namespace
}  // namespace wq::storage

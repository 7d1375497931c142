#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/unfinished_directory.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

class CopyBytesTest : public ::testing::Test {
 protected:
  // Copies `bytes` of `contents`; the copy is in copied_.
  Status Copy(const std::string& contents, uint64_t bytes,
              const std::function<Status()>& check = nullptr) {
    EXPECT_TRUE(WriteFileAtomically(dir_.path(), "from", contents).ok());
    const std::string to = dir_ / "to";
    Status status;
    {
      const FileDescriptor source(open((dir_ / "from").c_str(), O_RDONLY | O_CLOEXEC));
      const FileDescriptor target(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
      status = CopyBytes(source.get(), dir_ / "from", bytes, target.get(), to, check);
    }
    EXPECT_TRUE(ReadSmallFile(to, contents.size() + 1, &copied_).ok());
    return status;
  }

  const support::ScratchDirectory dir_;
  const std::string large_ = std::string((size_t{2} << 20) + 7, 'x') + "end";  // Three steps.
  std::string copied_;
};

TEST_F(CopyBytesTest, CopiesToTheLength) {
  EXPECT_TRUE(Copy(large_, large_.size()).ok());
  EXPECT_EQ(copied_, large_);
  EXPECT_TRUE(Copy(large_, large_.size() - 1).ok());
  EXPECT_EQ(copied_, large_.substr(0, large_.size() - 1));
  EXPECT_TRUE(Copy("abc", 0).ok());
  EXPECT_EQ(copied_, "");
}

TEST_F(CopyBytesTest, AShorterFileIsAnError) {
  const Status status = Copy("abc", 4);
  EXPECT_EQ(status.code(), StatusCode::kIOError);
  EXPECT_NE(status.message().find(dir_ / "from"), std::string::npos) << status.message();
}

TEST_F(CopyBytesTest, AnErrorOfTheCheckEndsIt) {
  int steps = 0;
  const Status status = Copy(large_, large_.size(), [&steps] {
    return ++steps == 3 ? Status::TimedOut("enough") : Status::Ok();
  });
  EXPECT_EQ(status.code(), StatusCode::kTimedOut);
  EXPECT_EQ(copied_.size(), size_t{2} << 20);
}

// A forked child has the locked directory open too.
TEST(UnfinishedDirectoryTest, AForkedChildDoesNotKeepIt) {
  const support::ScratchDirectory dir;
  std::unique_ptr<UnfinishedDirectory> unfinished;
  ASSERT_TRUE(UnfinishedDirectory::Make(dir / "new", &unfinished).ok());
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  unfinished.reset();
  const Status again = UnfinishedDirectory::Make(dir / "new", &unfinished);
  EXPECT_TRUE(again.ok()) << again.ToString();
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace wq

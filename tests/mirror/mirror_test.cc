// Tests the mirror example as a user runs it: a process that is killed at random under a storm of
// file changes, and whose target must be equal to its source in the end.
//
// WQ_SEED sets the seed (a run prints its own), WQ_MIRROR_KILLS the number of kills.

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "wq/store_view.h"

namespace wq {
namespace {

using namespace std::chrono_literals;
using support::FromEnvironment;
namespace fs = std::filesystem;

// Random changes of a directory tree, from one seed. It uses few names on few levels, so that names
// are reused: a file becomes a directory becomes a link, and a directory is moved to the former
// place of another one.
class FileStorm {
 public:
  FileStorm(std::string root, uint64_t seed) : root_(std::move(root)), random_(seed) {}

  // Makes one change; a change that the tree does not allow has no effect.
  void Change();
  uint64_t changes() const { return changes_; }
  uint64_t Below(uint64_t bound) { return random_() % bound; }

 private:
  std::string Path();
  void Write(const std::string& path, int flags);

  const std::string root_;
  std::mt19937_64 random_;
  uint64_t changes_ = 0;
};

// One to four levels of six names each, among them names with unusual bytes.
std::string FileStorm::Path() {
  static constexpr std::array<const char*, 6> kNames = {"a",    "b",        "-r",
                                                        "x\ny", "\xff\xfe", ".hidden"};
  std::string path = root_;
  for (uint64_t levels = 1 + Below(4); levels > 0; --levels) {
    path += std::string("/") + kNames[Below(kNames.size())];
  }
  return path;
}

void FileStorm::Write(const std::string& path, int flags) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0644);
  if (fd < 0) {
    return;
  }
  // Usually of one size, so that only the contents differ; sometimes of several chunks.
  const size_t size = Below(20) == 0 ? size_t{300} << 10 : 8;
  const std::string contents(size, static_cast<char>('a' + Below(26)));
  changes_ += write(fd, contents.data(), contents.size()) > 0 ? 1 : 0;
  close(fd);
}

void FileStorm::Change() {
  static constexpr std::array<mode_t, 4> kModes = {0755, 0700, 0644, 0600};
  const std::string path = Path();
  std::error_code error;
  bool is_done = false;
  switch (Below(16)) {
    case 0:
    case 1:
    case 2:
      Write(path, O_TRUNC);
      return;
    case 3:
      Write(path, O_APPEND);
      return;
    case 4:
    case 5:
    case 6:
    case 7:
      is_done = mkdir(path.c_str(), 0755) == 0;
      break;
    case 8:
      is_done = symlink(Path().c_str(), path.c_str()) == 0;
      break;
    case 9:
      is_done = unlink(path.c_str()) == 0;
      break;
    case 10:  // Large trees are removed less often.
      is_done =
          (Below(3) == 0 || path.size() > root_.size() + 4) && fs::remove_all(path, error) > 0;
      break;
    case 11:
    case 12:
      is_done = rename(path.c_str(), Path().c_str()) == 0;
      break;
    case 13:
      is_done = renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, Path().c_str(), RENAME_EXCHANGE) == 0;
      break;
    case 14:
      is_done = link(path.c_str(), Path().c_str()) == 0;
      break;
    default:  // A directory stays accessible to its owner, which need not be root.
      is_done = fchmodat(AT_FDCWD, path.c_str(),
                         fs::is_directory(fs::symlink_status(path, error)) ? kModes[Below(2)]
                                                                           : kModes[Below(4)],
                         0) == 0;
  }
  changes_ += is_done ? 1 : 0;
}

// A running mirror, whose output is read line by line.
class MirrorProcess {
 public:
  explicit MirrorProcess(std::vector<std::string> arguments) : child_(std::move(arguments)) {}

  // Returns the next line that begins with `start`, and skips others; nullopt: no such line within
  // `patience`, or the mirror has ended.
  std::optional<std::string> Line(std::string_view start, std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    for (bool late = false;;) {
      for (size_t end = 0; (end = child_.output().find('\n', read_)) != std::string::npos;) {
        const std::string line = child_.output().substr(read_, end - read_);
        read_ = end + 1;
        if (line.starts_with(start)) return line;
      }
      if (late || ended_) return std::nullopt;
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
          until - std::chrono::steady_clock::now());
      late = left.count() <= 0;
      ended_ = !child_.Read(std::max(left, 0us));
    }
  }
  bool ended() const { return ended_; }  // Set by Line.
  void Send(int signal) const { child_.Signal(signal); }
  // Waits for its end; returns the exit code, or minus the signal.
  int Wait() {
    const int status = child_.Wait();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  support::Child child_;
  size_t read_ = 0;  // Of its output.
  bool ended_ = false;
};

// Each path of the tree with its type, mode and contents or link target, sorted; without the
// mirror's own directory.
std::string TreeText(const std::string& root) {
  std::vector<std::string> lines;
  std::error_code error;
  fs::recursive_directory_iterator it(root, error);
  while (!error && it != fs::recursive_directory_iterator()) {
    const std::string path = it->path().lexically_relative(root).string();
    struct stat st = {};
    if (path == ".wq-mirror") {
      it.disable_recursion_pending();
    } else if (lstat(it->path().c_str(), &st) == 0) {
      std::string line = path + " " + std::to_string(st.st_mode) + " ";
      if (S_ISLNK(st.st_mode)) {
        line += fs::read_symlink(it->path(), error).string();
      } else if (S_ISREG(st.st_mode)) {
        std::ifstream in(it->path(), std::ios::binary);
        line.append(std::istreambuf_iterator<char>(in), {});
      }
      lines.push_back(std::move(line));
    }
    it.increment(error);  // The mirror may be changing the tree.
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

void WriteFile(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

struct Scan {
  uint64_t seen = 0;
  uint64_t changed = 0;
  uint64_t deleted = 0;
};

class MirrorTest : public ::testing::Test {
 protected:
  MirrorTest() {
    std::string pattern = (fs::temp_directory_path() / "wq-mirror-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directory(source_ = root_ + "/source");
    target_ = root_ + "/target";
    store_ = root_ + "/store";
  }
  ~MirrorTest() override { fs::remove_all(root_); }

  std::unique_ptr<MirrorProcess> Start(std::vector<std::string> options) {
    options.insert(options.begin(), {support::ProgramBesideThis("../examples/mirror"), source_,
                                     target_, "--store", store_});
    return std::make_unique<MirrorProcess>(std::move(options));
  }

  // Runs `mirror --once`, and returns the counts of its scan.
  Scan Once(std::vector<std::string> options = {}, uint64_t* reconciled = nullptr) {
    options.emplace_back("--once");
    const auto mirror = Start(options);
    const std::string line = mirror->Line("scan ", 60s).value_or("");
    const std::string idle = mirror->Line("idle ", 300s).value_or("");
    EXPECT_EQ(mirror->Wait(), 0);
    uint64_t count = 0;
    EXPECT_EQ(sscanf(idle.c_str(), "idle reconciled=%lu", &count), 1) << idle;
    if (reconciled != nullptr) *reconciled = count;
    return Parse(line);
  }

  static Scan Parse(const std::string& line) {
    Scan scan;
    EXPECT_EQ(sscanf(line.c_str(), "scan seen=%lu changed=%lu deleted=%lu", &scan.seen,
                     &scan.changed, &scan.deleted),
              3)
        << line;
    return scan;
  }

  // A tree of 20 directories with 15 files each.
  void MakeTree() {
    for (int d = 0; d < 20; ++d) {
      const std::string directory = source_ + "/d" + std::to_string(d);
      fs::create_directory(directory);
      for (int f = 0; f < 15; ++f) {
        WriteFile(directory + "/f" + std::to_string(f), std::to_string(d * 100 + f));
      }
    }
  }
  static constexpr uint64_t kTreeSize = 1 + 20 + 20 * 15;

  void MirrorTree() {
    MakeTree();
    EXPECT_EQ(Once().changed, kTreeSize);
    ASSERT_EQ(TreeText(source_), TreeText(target_));
  }

  // Counts the pending and delayed keys of the store, which no process has open.
  uint64_t Pending() const {
    std::unique_ptr<StoreView> view;
    QueueSummary summary;
    if (StoreView::Open(store_, &view).ok() && view->Summarize("mirror", {}, &summary).ok()) {
      return summary.pending + summary.delayed;
    }
    return 0;
  }

  // Waits until the running mirror has made the target equal to the present source, which has just
  // changed.
  ::testing::AssertionResult Converges(MirrorProcess* mirror) {
    const std::string expected = TreeText(source_);
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < until && mirror->Line("idle ", 60s).has_value()) {
      if (TreeText(target_) == expected) {
        return ::testing::AssertionSuccess();
      }
    }
    return ::testing::AssertionFailure() << "source:\n"
                                         << expected.substr(0, 4000) << "\ntarget:\n"
                                         << TreeText(target_).substr(0, 4000);
  }

  std::string root_;
  std::string source_;
  std::string target_;
  std::string store_;
};

TEST_F(MirrorTest, ConvergesAfterKillsUnderAStormOfChanges) {
  const uint64_t seed = support::Seed();
  const uint64_t kills = FromEnvironment("WQ_MIRROR_KILLS", 20);
  std::cout << "replay with WQ_SEED=" << seed << " WQ_MIRROR_KILLS=" << kills << "\n";
  FileStorm storm(source_, seed);
  uint64_t with_pending = 0;
  uint64_t while_down = 0;
  for (uint64_t kill = 0; kill < kills; ++kill) {
    const auto mirror = Start({"--workers", std::to_string(1 + storm.Below(8))});
    // Some are killed while they start or scan, the others up to 300 ms after that.
    const bool in_scan = storm.Below(4) == 0;
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(storm.Below(300));
    for (bool is_up = in_scan; !is_up || std::chrono::steady_clock::now() < until;) {
      for (uint64_t i = 1 + storm.Below(40); i > 0; --i) {
        storm.Change();
      }
      is_up = mirror->Line("scan ", std::chrono::milliseconds(storm.Below(4))).has_value() || is_up;
      ASSERT_FALSE(mirror->ended()) << "exit code " << mirror->Wait();
    }
    mirror->Send(SIGKILL);
    ASSERT_EQ(mirror->Wait(), -SIGKILL);
    with_pending += Pending() > 0 ? 1 : 0;
    const uint64_t before = storm.changes();
    for (uint64_t i = storm.Below(3) * 50; i > 0; --i) {
      storm.Change();
    }
    while_down += storm.changes() - before;
  }
  std::cout << kills << " kills, " << with_pending << " with pending keys; " << storm.changes()
            << " changes, " << while_down << " of them while it was down\n";
  // Kills of an idle mirror prove little. (Paths whose events wait for the next tick do not count.)
  EXPECT_GT(with_pending, kills / 10);
  EXPECT_GT(storm.changes(), kills * 50);

  const auto mirror = Start({});
  WriteFile(source_ + "/sentinel", "sentinel");
  EXPECT_TRUE(Converges(mirror.get()));
  mirror->Send(SIGTERM);
  EXPECT_EQ(mirror->Wait(), 0);
  EXPECT_EQ(TreeText(source_), TreeText(target_));
  EXPECT_FALSE(fs::exists(target_ + "/.wq-mirror"));
  EXPECT_EQ(Pending(), 0U);
}

TEST_F(MirrorTest, RestartFindsWhatChangedWhileItWasDown) {
  MirrorTree();
  WriteFile(source_ + "/d0/f0", "9");  // As long as before.
  chmod((source_ + "/d1/f1").c_str(), 0600);
  chmod((source_ + "/d2").c_str(), 0700);
  symlink("f2", (source_ + "/d3/link").c_str());
  WriteFile(source_ + "/d4/new", "new");
  rename((source_ + "/d5/f5").c_str(), (source_ + "/d6/f6").c_str());
  Scan scan = Once();
  EXPECT_EQ(scan.seen, kTreeSize + 1);
  EXPECT_EQ(scan.changed, 6U);  // d0/f0, d1/f1, d2, d3/link, d4/new, d6/f6.
  EXPECT_EQ(scan.deleted, 1U);  // d5/f5.
  EXPECT_EQ(TreeText(source_), TreeText(target_));
  fs::remove(source_ + "/d0/f0");
  fs::remove_all(source_ + "/d1");
  // Nothing inside a moved directory has a new ctime.
  ASSERT_EQ(renameat2(AT_FDCWD, (source_ + "/d7").c_str(), AT_FDCWD, (source_ + "/d8").c_str(),
                      RENAME_EXCHANGE),
            0);
  fs::rename(source_ + "/d9", source_ + "/d1");
  scan = Once();
  EXPECT_EQ(scan.changed, 3U * 16);  // d1, d7, d8.
  EXPECT_EQ(scan.deleted, 1U + 16);  // d0/f0, d9.
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

TEST_F(MirrorTest, RestartReconcilesOnlyWhatChanged) {
  // Half of the paths are longer than the name of an object may be.
  std::string deep = source_;
  for (int level = 0; level < 6; ++level) {
    deep += "/" + std::string(200, 'x');
  }
  fs::create_directories(deep);
  const auto file = [&](int i) { return (i % 2 == 0 ? source_ : deep) + "/" + std::to_string(i); };
  for (int i = 0; i < 1000; ++i) {
    WriteFile(file(i), std::to_string(i));
  }
  const auto mirror = Start({});
  ASSERT_TRUE(mirror->Line("idle ", 60s).has_value());
  for (const int i : {0, 1}) {  // What it has seen live counts as seen.
    chmod(file(i).c_str(), 0600);
    fs::remove(file(i + 2));
  }
  EXPECT_TRUE(Converges(mirror.get()));
  mirror->Send(SIGTERM);
  ASSERT_EQ(mirror->Wait(), 0);
  WriteFile(file(4), "new");
  WriteFile(file(5), "new");
  fs::remove(file(7));
  uint64_t reconciled = 0;
  const Scan scan = Once({}, &reconciled);
  EXPECT_EQ(scan.changed, 2U);
  EXPECT_EQ(scan.deleted, 1U);
  EXPECT_EQ(reconciled, 3U);
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

TEST_F(MirrorTest, RescanRepairsATargetThatAnotherProgramChanged) {
  MirrorTree();
  WriteFile(target_ + "/d0/f0", "9");
  fs::remove_all(target_ + "/d1");
  WriteFile(target_ + "/extra", "extra");
  EXPECT_EQ(Once().changed, 0U);
  EXPECT_EQ(Once({"--rescan"}).changed, kTreeSize);
  EXPECT_EQ(Once().changed, 0U);
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

TEST_F(MirrorTest, AnotherTargetIsNotTakenForTheOneThatWasSeen) {
  MirrorTree();
  target_ += "2";
  EXPECT_EQ(Once().changed, kTreeSize);
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

TEST_F(MirrorTest, OverflowOfTheEventQueueIsFollowedByAScan) {
  MakeTree();
  const auto mirror = Start({});
  ASSERT_TRUE(mirror->Line("idle ", 60s).has_value());
  mirror->Send(SIGSTOP);
  for (int i = 0; i < 20'000; ++i) {  // Two files in turn: equal events in a row are merged.
    chmod((source_ + "/d0/f" + std::to_string(i % 2)).c_str(), 0600 + (i & 0177));
  }
  fs::remove_all(source_ + "/d1");
  fs::rename(source_ + "/d2", source_ + "/d1");
  mirror->Send(SIGCONT);
  EXPECT_LT(Parse(mirror->Line("scan ", 60s).value_or("no scan")).changed, kTreeSize / 3);
  WriteFile(source_ + "/sentinel", "sentinel");
  EXPECT_TRUE(Converges(mirror.get()));
}

TEST_F(MirrorTest, SigtermLeavesAtOnceAndTheNextRunGoesOn) {
  MakeTree();
  for (int i = 0; i < 4; ++i) {
    WriteFile(source_ + "/large" + std::to_string(i), std::string(size_t{32} << 20, 'x'));
  }
  const auto mirror = Start({"--workers", "1"});
  ASSERT_TRUE(mirror->Line("scan ", 60s).has_value());
  mirror->Send(SIGTERM);
  EXPECT_EQ(mirror->Wait(), 0);
  EXPECT_GT(Pending(), 0U);
  Once();
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

// Only the file is reconciled here, so no reconcile of its directory has replaced the link before.
TEST_F(MirrorTest, NeverWritesThroughALinkThatTookADirectorysPlace) {
  MirrorTree();
  const std::string outside = root_ + "/outside";
  fs::rename(target_ + "/d0", outside);
  fs::create_symlink(outside, target_ + "/d0");
  const std::string before = TreeText(outside);
  WriteFile(source_ + "/d0/f0", "9");
  EXPECT_EQ(Once().changed, 1U);
  EXPECT_EQ(TreeText(outside), before);
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

TEST_F(MirrorTest, PipesAreNotMirroredAndDoNotBlock) {
  MirrorTree();
  fs::remove(source_ + "/d0/f0");
  ASSERT_EQ(mkfifo((source_ + "/d0/f0").c_str(), 0600), 0);
  Once();
  EXPECT_FALSE(fs::exists(target_ + "/d0/f0"));
  EXPECT_TRUE(fs::exists(target_ + "/d0/f1"));
}

TEST_F(MirrorTest, RefusesDirectoriesInsideEachOther) {
  target_ = source_ + "/inside";
  EXPECT_EQ(Start({"--once"})->Wait(), 1);
  target_ = root_ + "/target";
  store_ = target_ + "/store";
  EXPECT_EQ(Start({"--once"})->Wait(), 1);
}

// Makes a change of d0/f0 impossible to mirror, or possible again: for root by an immutable target,
// for other users by a source that cannot be read. False: this file system does not support it.
bool Obstruct(const std::string& source, const std::string& target, bool is_on) {
  if (geteuid() != 0) {
    return chmod((source + "/d0/f0").c_str(), is_on ? 0 : 0644) == 0;
  }
  const int fd = open((target + "/d0/f0").c_str(), O_RDONLY | O_CLOEXEC);
  int flags = is_on ? FS_IMMUTABLE_FL : 0;
  const bool is_done = ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
  close(fd);
  return is_done;
}

TEST_F(MirrorTest, OnceReportsAPathThatKeepsFailingAndMirrorsTheOthers) {
  MirrorTree();
  WriteFile(source_ + "/d0/f0", "new");
  WriteFile(source_ + "/d0/f1", "new");
  const std::string before = TreeText(target_);
  if (!Obstruct(source_, target_, true)) {
    GTEST_SKIP() << "no change can be made to fail here";
  }
  EXPECT_EQ(Start({"--once"})->Wait(), 1);
  EXPECT_NE(TreeText(target_), before);
  EXPECT_NE(TreeText(target_), TreeText(source_));
  EXPECT_TRUE(Obstruct(source_, target_, false));
  Once();  // The quarantined path is retried.
  EXPECT_EQ(TreeText(source_), TreeText(target_));
}

}  // namespace
}  // namespace wq

// Stores on file systems of each kind: whether a process log is safe there. A store to its mapped
// file must not fail for want of space, since that ends the process (SIGBUS): not on a full disk
// either, nor after `cp` of the running store, whose copy shares the file's blocks where it can.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/mounted_file_system.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::support {
namespace {

struct FileSystem {
  const char* name;
  FileSystemKind file_system;
  bool has_log = false;
};

void PrintTo(const FileSystem& one, std::ostream* out) { *out << one.name; }

const FileSystem kFileSystems[] = {
    {"Ext4", {.make = "mkfs.ext4 -q"}, true},
    {"Tmpfs", {.bytes = 64 << 20}, true},
    {"XfsWithoutReflinks", {.make = "mkfs.xfs -q -m reflink=0"}, true},
    {"OverlayOverExt4", {.make = "mkfs.ext4 -q", .overlaid = true}, true},
    {"OverlayOverXfsWithoutReflinks", {.make = "mkfs.xfs -q -m reflink=0", .overlaid = true}, true},
    {"Xfs", {.make = "mkfs.xfs -q -m reflink=1"}},
    {"OverlayOverXfs", {.make = "mkfs.xfs -q -m reflink=1", .overlaid = true}},
    {"Btrfs", {.make = "mkfs.btrfs -q"}},
    {"OverlayOverBtrfs", {.make = "mkfs.btrfs -q", .overlaid = true}},
    // It is as safe as tmpfs, but what is not safe below an overlay can look the same.
    {"OverlayOverTmpfs", {.bytes = 64 << 20, .overlaid = true}},
};

class FileSystemsTest : public ::testing::TestWithParam<FileSystem> {
 protected:
  ScratchDirectory root_;
};

std::string KeyOf(uint64_t n) { return "key-" + std::to_string(n) + std::string(1000, 'k'); }

// What an opening reserves has to fit beside the store.
const StoreOptions kSmall = {.create_if_missing = true, .write_buffer_bytes = size_t{1} << 20};

// Run by the next test. Ends like a killed process when calls have been refused.
TEST(FullDiskChild, DISABLED_AddsUntilTheDiskIsFull) {
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  Status s = Store::Open(kSmall, std::getenv("WQ_TEST_DIR"), &store);
  if (s.ok()) s = store->OpenQueue("q", {}, &queue);
  std::cout << s.ToString() << std::endl;
  int refused = 0;
  for (uint64_t n = 0; s.ok() && n < 300'000; ++n) {
    if (queue->Add(KeyOf(n)).ok()) {
      std::cout << "added " << n << std::endl;
      if (n == 300) {
        raise(SIGSTOP);  // Until the copy is made and the disk is full.
      }
    } else if (++refused == 100) {
      _exit(42);
    }
  }
}

TEST_P(FileSystemsTest, AFullDiskBesideACopyEndsNoOwnerAndLosesNothing) {
  const MountedFileSystem small(root_ / "small", GetParam().file_system);
  if (!small.mounted()) {
    GTEST_SKIP() << small.skipped();
  }
  const std::string dir = small.dir() + "/store";
  setenv("WQ_TEST_DIR", dir.c_str(), 1);
  Child child({"/proc/self/exe", "--gtest_also_run_disabled_tests",
               "--gtest_filter=FullDiskChild.DISABLED_AddsUntilTheDiskIsFull"});
  ASSERT_TRUE(child.ReadUntil("added 300\n")) << child.output();
  siginfo_t stopped = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child.pid()), &stopped, WSTOPPED), 0);
  ASSERT_EQ(std::system(("cp -r --reflink=auto " + dir + " " + dir + ".copy").c_str()), 0);
  small.Fill(0);
  kill(child.pid(), SIGCONT);
  const int status = child.Wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << "status " << status;
  small.MakeRoom();
  std::filesystem::remove_all(dir + ".copy");
  std::unique_ptr<Store> store;
  Queue* queue = nullptr;
  const Status opened = Store::Open(kSmall, dir, &store);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  const Status log = store->ProcessLogStatus();
  EXPECT_EQ(log.code(), GetParam().has_log ? StatusCode::kOk : StatusCode::kNotSupported)
      << log.ToString();
  ASSERT_TRUE(store->OpenQueue("q", {}, &queue).ok());
  uint64_t acknowledged = 0;
  std::istringstream output(child.output());
  for (std::string word; output >> word;) {
    uint64_t n = 0;
    if (word != "added" || !(output >> n)) {
      continue;
    }
    const Status found = queue->Inspect(KeyOf(n), [](const KeyInfo&) {});
    ASSERT_TRUE(found.ok()) << n << ": " << found.ToString();
    ++acknowledged;
  }
  EXPECT_GT(acknowledged, 300U);
}

INSTANTIATE_TEST_SUITE_P(Types, FileSystemsTest, ::testing::ValuesIn(kFileSystems),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq::support

// Stores for which no process log can be made: on a full disk, on a file system of another type,
// and without mmap. They open and report why, and no file is left behind. (The kill kit has stores
// without one.)

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/file_calls.h"
#include "tests/support/environment.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/verify.h"

namespace wq::support {
namespace {

// Machines on which one call for the process log fails.
struct Machine {
  const char* name;
  int allocate = 0;  // errno; 0: the call succeeds.
  int map = 0;
  int file_system_type = 0;
  uint64_t type = 0;      // Of the file system; 0: as it is.
  bool reflinks = false;  // Files can share blocks.
  int extents = 0;        // Of FS_IOC_FIEMAP: errno; 0: it succeeds.
  StatusCode code = StatusCode::kOk;
  const char* message = "";
};

void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.name; }

const Machine kMachines[] = {
    {.name = "FullDisk", .allocate = ENOSPC, .code = StatusCode::kIOError, .message = "No space"},
    {.name = "NoAllocation",
     .allocate = EOPNOTSUPP,
     .code = StatusCode::kNotSupported,
     .message = "cannot allocate"},
    {.name = "NoMapping",
     .map = ENODEV,
     .code = StatusCode::kNotSupported,
     .message = "cannot map"},
    {.name = "NoMemory", .map = ENOMEM, .code = StatusCode::kIOError, .message = "cannot map"},
    {.name = "Btrfs",
     .type = BTRFS_SUPER_MAGIC,
     .code = StatusCode::kNotSupported,
     .message = "is on a file system"},
    {.name = "Nfs",
     .type = NFS_SUPER_MAGIC,
     .code = StatusCode::kNotSupported,
     .message = "is on a file system"},
    {.name = "Reflinks",
     .reflinks = true,
     .code = StatusCode::kNotSupported,
     .message = "share blocks"},
    {.name = "OverlayOverAnother",
     .type = OVERLAYFS_SUPER_MAGIC,
     .extents = EOPNOTSUPP,
     .code = StatusCode::kNotSupported,
     .message = "is on a file system"},
    {.name = "UnknownType",
     .file_system_type = EIO,
     .code = StatusCode::kIOError,
     .message = "cannot read the file system"},
};

class MachineCalls final : public FileCalls {
 public:
  explicit MachineCalls(const Machine& machine) : machine_(machine) { UseFileCalls(this); }
  ~MachineCalls() override { UseFileCalls(nullptr); }

  int Allocate(int fd, const std::string& path, uint64_t bytes) override {
    return Fails(machine_.allocate) ? -1 : FileCalls::Allocate(fd, path, bytes);
  }
  int FileSystemType(int fd, const std::string& path, uint64_t* type) override {
    if (Fails(machine_.file_system_type)) {
      return -1;
    }
    const int result = FileCalls::FileSystemType(fd, path, type);
    *type = machine_.type == 0 ? *type : machine_.type;
    return result;
  }
  int Control(int fd, const std::string& path, unsigned long request, uintptr_t argument) override {
    if (request == FICLONE && machine_.reflinks) {
      return 0;
    }
    return request == FS_IOC_FIEMAP && Fails(machine_.extents)
               ? -1
               : FileCalls::Control(fd, path, request, argument);
  }
  void* Map(int fd, const std::string& path, uint64_t bytes) override {
    return Fails(machine_.map) ? nullptr : FileCalls::Map(fd, path, bytes);
  }

 private:
  static bool Fails(int error) {
    errno = error;
    return error != 0;
  }
  const Machine& machine_;
};

std::string ProcessLogsIn(const std::string& dir) {
  std::string names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().extension() == ".ring") {
      names += entry.path().filename().string() + " ";
    }
  }
  return names;
}

class NoProcessLogTest : public ::testing::TestWithParam<Machine> {
 protected:
  ScratchDirectory root_;
  const std::string dir_ = root_ / "store";
};

// The store reports why. On a machine on which a log can be made it has one again, and the other
// way round.
TEST_P(NoProcessLogTest, TheStoreReportsWhyAndHasALogAgainElsewhere) {
  uint64_t keys = 0;
  for (const bool can : {false, true, false, true, true}) {
    std::unique_ptr<MachineCalls> calls;
    if (!can) {
      calls = std::make_unique<MachineCalls>(GetParam());
    }
    std::unique_ptr<Store> store;
    Queue* queue = nullptr;
    Status s = Store::Open({.create_if_missing = true}, dir_, &store);
    ASSERT_TRUE(s.ok()) << s.ToString();
    ASSERT_TRUE(store->OpenQueue("q", {}, &queue).ok());
    EXPECT_EQ(queue->Len(), keys);
    ASSERT_TRUE(queue->Add("key-" + std::to_string(keys++)).ok());
    s = store->ProcessLogStatus();
    EXPECT_EQ(s.code(), can ? StatusCode::kOk : GetParam().code) << s.ToString();
    EXPECT_EQ(ProcessLogsIn(dir_).empty(), !can);
    if (!can) {
      EXPECT_NE(s.message().find(GetParam().message), std::string::npos) << s.ToString();
      EXPECT_NE(s.message().find(dir_), std::string::npos) << s.ToString();
    }
    VerifyReport report;
    ASSERT_TRUE(Verify(dir_, {}, &report).ok());
    EXPECT_TRUE(report.ok()) << report.findings[0].where << ": " << report.findings[0].what;
    if (keys % 2 == 0) {
      EXPECT_TRUE(store->Close().ok());
      EXPECT_EQ(ProcessLogsIn(dir_), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, NoProcessLogTest, ::testing::ValuesIn(kMachines),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wq::support

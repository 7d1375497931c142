// What every verb says to a store or a queue that it cannot use.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <map>

#include "tests/wqctl/unit/in_process.h"

namespace wqctl {
namespace {

namespace fs = std::filesystem;

// A line of each verb that uses a store, with those that make a missing one at the end.
const std::string kLines =
    "inspect,inspect k,ls,errors,dump,watch --count 1,snapshot create s,add -q q k,"
    "work -q q --dry-run -- true,rm -q q --yes k,delete -q q --all --yes,cancel-delay -q q --yes k,"
    "requeue -q q --yes k,forget -q q --all --dry-run,pause -q q --yes,resume -q q --dry-run,"
    "queue delete -q q --yes";
const std::string kMaking = ",load line,load --dry-run --replace line";
const std::string kChecking = ",verify,repair --into new";

class RefusalsTest : public WqctlTest {
 protected:
  RefusalsTest() {
    std::ofstream("line") << R"({"queue":"q","key":"k","state":"pending"})";
    chmod("line", 0644);
  }

  // Each line of the list ends so.
  static void Each(const std::string& list, int code, const std::string& text) {
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line, ',');) Expect(code, line, text);
  }
  // The files below the directory of the test, with their bytes.
  static std::map<std::string, std::string> Contents() {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::recursive_directory_iterator(".")) {
      std::ifstream file(entry.path(), std::ios::binary);
      if (entry.is_regular_file()) contents[entry.path()] = {std::istreambuf_iterator(file), {}};
    }
    return contents;
  }
  static void Unchanged(const std::string& list, int code, const std::string& text) {
    const auto before = Contents();
    Each(list, code, text);
    EXPECT_TRUE(Contents() == before) << list;
  }
};

TEST_F(RefusalsTest, NoStoreNamedAndAMissingOne) {
  Unchanged(kLines + kChecking, 3, "no store store");
  setenv("WQ_STORE", "", 1);
  Unchanged(kLines + kMaking + kChecking + ",init", 2, "Give --store DIR or set WQ_STORE");
  unsetenv("WQ_STORE");
  Unchanged(kLines + kMaking + kChecking + ",init", 2, "Give --store DIR or set WQ_STORE");
  Out("--store one init");
  Out("init --store two");
  Out("--store=three init");
  EXPECT_TRUE(fs::exists("one/FORMAT") && fs::exists("two/FORMAT") && fs::exists("three/FORMAT"));
}

TEST_F(RefusalsTest, AMissingQueue) {
  Out("init");
  Out("add -q pods a");
  Each(
      "inspect -q pod,inspect -q pod k,ls -q pod,errors -q pod,dump -q pod,"
      "watch -q pod --count 1,work -q pod --dry-run -- true,rm -q pod --yes k,"
      "rm -q pod --dry-run k,delete -q pod --all --yes,cancel-delay -q pod --yes k,"
      "requeue -q pod --yes k,forget -q pod --all --yes,pause -q pod --yes,resume -q pod --yes,"
      "queue delete -q pod --yes",
      3, "error: no queue \"pod\"; did you mean \"pods\"?\n");
  Each("ls -q quite-another,inspect -q quite-another", 3, "error: no queue \"quite-another\"\n");
  EXPECT_EQ(Out("inspect -o name"), "pods\n");
}

TEST_F(RefusalsTest, AnotherFormatAndMissingFiles) {
  Out("init");
  Out("add -q q k");
  const std::string format = Contents()["./store/FORMAT"];
  for (const std::string version : {"0", "4", "999"}) {
    std::ofstream("store/FORMAT") << "wq-store " + version + format.substr(10);
    Unchanged(kLines + kMaking + kChecking + ",init", 1,
              "has format version " + version + "; this wq reads versions 1 to 3");
  }
  std::ofstream("store/FORMAT") << format;
  for (const std::string prefix : {"MANIFEST-", "CURRENT"}) {
    for (const auto& entry : fs::directory_iterator("store")) {
      if (entry.path().filename().string().starts_with(prefix)) fs::remove(entry.path());
    }
    Unchanged(kLines + kMaking + ",init", 5, prefix);
    EXPECT_EQ(Run({"verify"}).code, 5);
  }
}

// Not root, until the end of the scope: the files of the test are the other user's.
class Unprivileged {
 public:
  Unprivileged() { EXPECT_EQ(seteuid(getuid() == 0 ? 65534 : getuid()), 0); }
  ~Unprivileged() { EXPECT_EQ(seteuid(getuid()), 0); }
};

TEST_F(RefusalsTest, WithoutPermission) {
  Out("init");
  Out("add -q q k");
  Out("snapshot create --name s kept");
  chmod(scratch_.path().c_str(), 0711);
  chmod("store", getuid() == 0 ? 0700 : 0);
  fs::create_directory("closed");
  chmod("closed", 0555);
  for (const auto& entry : fs::recursive_directory_iterator("kept")) {
    EXPECT_EQ(getuid() == 0 ? chown(entry.path().c_str(), 65534, 0) : 0, 0);
  }
  chmod("kept", 0755);
  {
    const Unprivileged user;
    Each(kLines + kMaking + kChecking, 1, "Permission denied");
    Each(
        "--store kept/s snapshot create closed,--store kept/s snapshot create closed/new,"
        "snapshot restore kept/s --into closed/new,--store kept/s repair --into closed/new,"
        "--store closed/new init,--store closed/new load line",
        1, "closed");
    EXPECT_TRUE(fs::is_empty("closed"));
  }
  chmod("store", 0700);
}

// From now on the kernel refuses the system call to this process, as an old one does.
void Refuse(uint32_t call) {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {std::size(filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(99);
  }
}

TEST_F(RefusalsTest, WorkWhereTheKernelRefusesACall) {
  Out("init");
  Out("add -q q k");
  const auto work = [](uint32_t call) {
    Refuse(call);
    _exit(RunCommandLine({"work", "-q", "q", "--", "true"}, 022));
  };
  EXPECT_EXIT(work(SYS_pidfd_open), ::testing::ExitedWithCode(1),
              "^wqctl: error: no command can be watched over: pidfd_open: Function not implemented;"
              " see \"What work needs\" in docs/wqctl.md\n$");
  EXPECT_EXIT(work(SYS_clone), ::testing::ExitedWithCode(1), "over: clone: Function not impl");
  EXPECT_EQ(Out("ls -o name"), "k\n");
}

}  // namespace
}  // namespace wqctl

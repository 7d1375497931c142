// What systemd passes to the process, and what is reported to it.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/net/socket.h"
#include "server/net/socket_activation.h"
#include "server/net/systemd_notify.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class SystemdTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int port = 0;
    SocketFile file;
    ASSERT_TRUE(OpenSocketFile(dir_.path(), "passed.sock", &file).ok());
    ASSERT_TRUE(ListenOnFile(file, &unix_).ok());
    ASSERT_TRUE(ListenOnTcp("127.0.0.1:0", false, &tcp_, &port).ok());
  }
  // Runs `check` in a child that has `third` and `fourth` as descriptors 3 and 4.
  static bool InChild(int third, int fourth, const std::string& count, const char* names,
                      const std::function<bool(const Status&, std::vector<PassedSocket>&)>& check,
                      bool own_pid = true) {
    const pid_t child = fork();
    if (child == 0) {
      const int copy3 = dup(third);
      const int copy4 = dup(fourth);
      if (dup2(copy3, 3) != 3 || dup2(copy4, 4) != 4) {
        _exit(100);
      }
      setenv("LISTEN_PID", std::to_string(own_pid ? getpid() : getppid()).c_str(), 1);
      setenv("LISTEN_FDS", count.c_str(), 1);
      if (names != nullptr) {
        setenv("LISTEN_FDNAMES", names, 1);
      }
      std::vector<PassedSocket> sockets;
      const Status s = TakePassedSockets(&sockets);
      const bool cleared = getenv("LISTEN_PID") == nullptr && getenv("LISTEN_FDS") == nullptr &&
                           getenv("LISTEN_FDNAMES") == nullptr;
      _exit(cleared && check(s, sockets) ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
  }

  const support::ScratchDirectory dir_;
  FileDescriptor unix_{-1};
  FileDescriptor tcp_{-1};
};

TEST_F(SystemdTest, PassedSocketsHaveTheirNamesAndAreCloseOnExec) {
  const auto named = [](const Status& s, std::vector<PassedSocket>& sockets) {
    return s.ok() && sockets.size() == 2 && sockets[0].fd.get() == 3 &&
           sockets[0].name == "control" && sockets[1].fd.get() == 4 && sockets[1].name == "tls" &&
           fcntl(3, F_GETFD) == FD_CLOEXEC && fcntl(4, F_GETFD) == FD_CLOEXEC;
  };
  EXPECT_TRUE(InChild(unix_.get(), tcp_.get(), "2", "control:tls", named));
  const auto unnamed = [](const Status& s, std::vector<PassedSocket>& sockets) {
    return s.ok() && sockets.size() == 1 && sockets[0].name == "unknown";
  };
  EXPECT_TRUE(InChild(unix_.get(), tcp_.get(), "1", nullptr, unnamed));
}

TEST_F(SystemdTest, SocketsOfAnotherProcessAreNotTaken) {
  const auto none = [](const Status& s, std::vector<PassedSocket>& sockets) {
    return s.ok() && sockets.empty();
  };
  EXPECT_TRUE(InChild(unix_.get(), tcp_.get(), "2", nullptr, none, /*own_pid=*/false));
  EXPECT_TRUE(InChild(unix_.get(), tcp_.get(), "0", nullptr, none));
  std::vector<PassedSocket> sockets;
  unsetenv("LISTEN_FDS");
  EXPECT_TRUE(TakePassedSockets(&sockets).ok());
  EXPECT_TRUE(sockets.empty());
}

TEST_F(SystemdTest, ADescriptorThatDoesNotListenIsNamed) {
  const FileDescriptor datagram(socket(AF_INET, SOCK_DGRAM, 0));
  const FileDescriptor connected(socket(AF_INET, SOCK_STREAM, 0));
  for (const int fd : {datagram.get(), connected.get(), STDIN_FILENO}) {
    const auto refused = [](const Status& s, std::vector<PassedSocket>& sockets) {
      return s.code() == StatusCode::kInvalidArgument && sockets.empty() &&
             s.message() == "descriptor 4 (b) of LISTEN_FDS is no listening stream socket";
    };
    EXPECT_TRUE(InChild(unix_.get(), fd, "2", "a:b", refused));
  }
  for (const char* count : {"x", "2x", "99999999999", "2000"}) {
    const auto refused = [count](const Status& s, std::vector<PassedSocket>&) {
      return s.code() == StatusCode::kInvalidArgument && s.message().ends_with(count);
    };
    EXPECT_TRUE(InChild(unix_.get(), tcp_.get(), count, nullptr, refused)) << count;
  }
}

class NotifyTest : public ::testing::Test {
 protected:
  ~NotifyTest() override { unsetenv("NOTIFY_SOCKET"); }
  // Binds `name`, where '@' is an abstract address, and makes it NOTIFY_SOCKET.
  void Listen(const std::string& name) {
    fd_ = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(name.size(), sizeof(address.sun_path));
    name.copy(address.sun_path, name.size());
    if (name[0] == '@') {
      address.sun_path[0] = '\0';
    }
    const size_t size = offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '@' ? 0 : 1);
    ASSERT_EQ(
        bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)),
        0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  std::string Received() const {
    char buffer[4096];
    const ssize_t n = recv(fd_.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    return n < 0 ? "nothing" : std::string(buffer, static_cast<size_t>(n));
  }

  const support::ScratchDirectory dir_;
  FileDescriptor fd_{-1};
};

TEST_F(NotifyTest, ReachesAFileAndAnAbstractAddress) {
  for (const std::string& name : {dir_ / "notify", "@wq-notify-test-" + std::to_string(getpid())}) {
    Listen(name);
    EXPECT_TRUE(Notify(kNotifyReady).ok());
    EXPECT_EQ(Received(), "READY=1");
    EXPECT_TRUE(Notify("STATUS=2 workers\nREADY=1").ok());
    EXPECT_EQ(Received(), "STATUS=2 workers\nREADY=1");
    EXPECT_TRUE(Notify(kNotifyStopping).ok());
    EXPECT_EQ(Received(), "STOPPING=1");
    EXPECT_TRUE(Notify(NotifyReloading()).ok());
    EXPECT_THAT(Received(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+"));
  }
}

TEST_F(NotifyTest, WithoutASocketNothingIsSent) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(Notify(kNotifyReady).ok());
  setenv("NOTIFY_SOCKET", "", 1);
  EXPECT_TRUE(Notify(kNotifyReady).ok());
}

TEST_F(NotifyTest, AnAddressThatCannotBeReachedIsNamed) {
  const std::string missing = dir_ / "missing";
  setenv("NOTIFY_SOCKET", missing.c_str(), 1);
  EXPECT_EQ(Notify(kNotifyReady).code(), StatusCode::kIOError);
  EXPECT_THAT(Notify(kNotifyReady).message(), HasSubstr(missing));
  for (const std::string& name : {std::string("relative"), "/" + std::string(200, 'x')}) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    EXPECT_EQ(Notify(kNotifyReady).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Notify(kNotifyReady).message(), HasSubstr(name));
  }
}

}  // namespace
}  // namespace wq

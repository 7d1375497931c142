// What is reported to systemd.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/net/socket.h"
#include "server/net/systemd_notify.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

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

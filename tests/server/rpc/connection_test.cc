// What idle connections cost.
#include <dirent.h>
#include <poll.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/server/rpc/rpc_fixture.h"
#include "tests/server/server_fixture.h"

namespace wq {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string FileOfTask(const std::string& task, const std::string& file) {
  std::ostringstream bytes;
  bytes << std::ifstream("/proc/self/task/" + task + "/" + file).rdbuf();
  return bytes.str();
}

// How often each other thread of this process was switched to, by its id and name.
std::map<std::string, size_t> CountSwitches() {
  std::map<std::string, size_t> switches;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    const std::string id = task->d_name;
    if (id.starts_with(".") || id == std::to_string(gettid())) {
      continue;
    }
    std::istringstream status(FileOfTask(id, "status"));
    std::string line;
    while (std::getline(status, line)) {
      if (line.find("ctxt_switches:") != std::string::npos) {
        switches[id + " " + FileOfTask(id, "comm")] += std::stoul(line.substr(line.find(':') + 1));
      }
    }
  }
  closedir(tasks);
  return switches;
}

// Of the threads that were switched to in this time. gRPC 1.51 wakes each of its two threads for
// timers once a second, whatever the server does: they are left out if they keep to that.
std::map<std::string, size_t> SwitchesIn(int milliseconds) {
  const auto before = CountSwitches();
  poll(nullptr, 0, milliseconds);  // Not a wait for an event: nothing may happen.
  std::map<std::string, size_t> switches;
  for (const auto& [thread, count] : CountSwitches()) {
    const auto old = before.find(thread);
    const size_t more = count - (old == before.end() ? 0 : old->second);
    const bool timer =
        thread.ends_with(" grpc_global_tim\n") || thread.ends_with(" timer_manager\n");
    if (more > (timer ? static_cast<size_t>(milliseconds) / 1000 + 1 : 0)) {
      switches[thread] = more;
    }
  }
  return switches;
}

TEST(RpcConnection, AnIdleServerDoesNotWakeUp) {
  RpcFixture f;
  f.Open();
  std::vector<int> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(f.ConnectFd());
    SendAll(clients.back(), kPreface + std::string("\0\0\0\4\0\0\0\0\0", 9), ServerFixture::Soon());
    char byte = 0;
    ASSERT_EQ(read(clients.back(), &byte, 1), 1);  // The server's settings.
  }
  // In the first periods, threads may be about to wait.
  auto switches = SwitchesIn(2000);
  for (int period = 0; period < 4 && !switches.empty(); ++period) {
    switches = SwitchesIn(2000);
  }
  EXPECT_THAT(switches, testing::IsEmpty());
  for (const int fd : clients) {
    close(fd);
  }
}

}  // namespace
}  // namespace wq

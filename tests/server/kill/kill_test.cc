// A server, workers and adders are killed with SIGKILL at random instants under load, one at a time
// or several at once, and started again; the server one time in four while it still opens its
// store. Then all keys are processed, and Judge checks the events of all processes.
//
// WQ_SEED is the seed (a run prints its own), WQ_SERVER_KILLS the number of kills.
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/kill/event_log.h"
#include "tests/server/kill/judge.h"
#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "wq/live_store.h"

namespace wq::support {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Of one store and one log.
constexpr uint64_t kKillsOfAnEpisode = 20;

class ServerKillTest : public testing::Test {
 protected:
  struct Running {
    const char* role;
    std::unique_ptr<Child> child;
  };

  void Start(Running* process) {
    const bool server = process == &server_;
    if (server) {
      log_->Add({.kind = EventKind::kServerStarts});
    }
    std::vector<std::string> arguments = {
        support::ProgramBesideThis("server_kill_child"), process->role, dir_, log_file_,
        std::to_string(server ? shards_ : random_() % 1'000'000'007)};
    if (server) {
      arguments.push_back(Buffers::Draw(&random_).ToString());
    }
    process->child = std::make_unique<Child>(std::move(arguments));
  }
  void Kill(const std::vector<Running*>& processes) {
    for (Running* const process : processes) {
      if (process == &server_) {
        log_->Add({.kind = EventKind::kServerKilling});
      }
      process->child->Signal(SIGKILL);
    }
    for (Running* const process : processes) {
      const int status = process->child->Wait();
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
          << process->role << " ended by itself with " << status;
      if (process == &server_) {
        log_->Add({.kind = EventKind::kServerKilled});
      }
      ++kills_;
    }
  }
  std::vector<Running*> Victims() {
    std::vector<Running*> victims;
    if (random_() % 2 == 0) {
      victims.push_back(&server_);
    }
    for (Running& client : clients_) {
      if (victims.empty() || random_() % 4 == 0) {
        victims.push_back(&client);
      }
    }
    if (random_() % 2 == 0) {  // The workers first.
      std::reverse(victims.begin(), victims.end());
    }
    return victims;
  }
  void Episode(uint64_t kills);
  void Drain();

  std::mt19937_64 random_;
  std::string dir_;
  std::string log_file_;
  uint64_t shards_ = 0;
  std::unique_ptr<EventLog> log_;
  Running server_{"server", nullptr};
  std::array<Running, 5> clients_{Running{"worker", nullptr}, Running{"worker", nullptr},
                                  Running{"worker", nullptr}, Running{"adder", nullptr},
                                  Running{"adder", nullptr}};
  uint64_t kills_ = 0;
  Judgement total_;
};

// Waits until the queue is empty.
void ServerKillTest::Drain() {
  log_->Stop();
  const auto deadline = steady_clock::now() + seconds(60);
  QueueCounts counts;
  while (steady_clock::now() < deadline) {
    std::unique_ptr<LiveStore> live;
    LiveInfo info;
    if (LiveStore::Connect(dir_, &live).ok() && live->Read(&info).ok() && info.queues.size() == 1 &&
        info.queues[0].open) {
      counts = info.queues[0].counts;
      if (counts.queued + counts.processing + counts.delayed == 0) {
        return;
      }
    }
    log_->WaitForSize(log_->size() + 50, milliseconds(50));
  }
  FAIL() << "the queue is not empty: " << counts.queued << " queued, " << counts.processing
         << " processing, " << counts.delayed << " delayed";
}

void ServerKillTest::Episode(uint64_t kills) {
  const ScratchDirectory root;
  dir_ = root / "store";
  log_file_ = root / "log";
  shards_ = random_() % 3 == 0 ? 8 : 0;
  log_ = std::make_unique<EventLog>(log_file_, true);
  Start(&server_);
  for (Running& client : clients_) {
    Start(&client);
  }
  const uint64_t until = kills_ + kills;
  while (kills_ < until) {
    const bool at_once = random_() % 4 == 0;
    log_->WaitForSize(log_->size() + (at_once ? 1 : 100 + random_() % 2000),
                      at_once ? microseconds(random_() % 30'000) : microseconds(seconds(5)));
    const std::vector<Running*> victims = Victims();
    ASSERT_NO_FATAL_FAILURE(Kill(victims));
    for (Running* const victim : victims) {
      Start(victim);
    }
  }
  ASSERT_NO_FATAL_FAILURE(Drain());
  // The adders have to acknowledge their last calls.
  for (Running& client : clients_) {
    if (std::string(client.role) == "adder") {
      ASSERT_EQ(client.child->Wait(), 0);
    }
  }
  ASSERT_NO_FATAL_FAILURE(Drain());
  server_.child.reset();
  for (Running& client : clients_) {
    client.child.reset();
  }
  const Judgement judgement = Judge(log_->Read(), {});
  for (const std::string& violation : judgement.violations) {
    ADD_FAILURE() << violation;
  }
  total_.assignments += judgement.assignments;
  total_.accepted += judgement.accepted;
  total_.added += judgement.added;
}

TEST_F(ServerKillTest, NothingAcknowledgedIsLostAndNoKeyIsAssignedTwiceAtOnce) {
  const uint64_t seed = support::Seed();
  const uint64_t kills = FromEnvironment("WQ_SERVER_KILLS", 40);
  std::cout << "replay with WQ_SEED=" << seed << " WQ_SERVER_KILLS=" << kills << "\n";
  random_.seed(seed);
  while (kills_ < kills && !HasFailure()) {
    Episode(std::min(kills - kills_, kKillsOfAnEpisode));
  }
  std::cout << "total: " << kills_ << " kills, " << total_.added << " acknowledged adds, "
            << total_.assignments << " assignments, " << total_.accepted << " accepted answers\n";
  EXPECT_GT(total_.added, kills * 20);  // A run with few calls proves little.
  EXPECT_GT(total_.accepted, kills * 20);
}

}  // namespace
}  // namespace wq::support

// What the owner of a replicated store does when etcd is away in part, in one direction, is full or
// is another etcd: it never acknowledges what is not in the log, and says what is wrong.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/etcd/cluster.h"
#include "tests/support/environment.h"
#include "tests/support/proxy.h"
#include "tests/support/wait.h"
#include "wq/clock.h"
#include "wq/etcd_log.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::failover {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

constexpr std::chrono::milliseconds kLease{2000};
constexpr std::chrono::milliseconds kMargin{500};
constexpr char kPrefix[] = "/wq/outage";
const AddOptions kLogged = {.durability = Durability::kReplicated};
const AddOptions kLocal = {.durability = Durability::kProcess};

using support::Eventually;
using support::Proxy;

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A listening socket on a free port of 127.0.0.1, and its "127.0.0.1:PORT".
int Listen(std::string* endpoint) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(fd, 16), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  *endpoint = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  return fd;
}

int ConnectTo(const std::string& endpoint) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(std::atoi(endpoint.substr(endpoint.rfind(':') + 1).c_str()));
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

class OutageTest : public testing::Test {
 protected:
  std::unique_ptr<Store> Open(const std::string& name, const EtcdOptions& etcd) {
    Replication replication;
    EXPECT_TRUE(OpenEtcdLog(etcd, &replication.log).ok());
    replication.name = name;
    replication.lease = kLease;
    replication.lease_margin = kMargin;
    replication.write_timeout = 500ms;
    std::unique_ptr<Store> store;
    const Status s =
        Store::Open({.create_if_missing = true, .replication = replication}, dir_ / name, &store);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return store;
  }
  static void Lead(Store* store, Queue** queue) {
    Status s = store->WaitForLeadership(40s);
    ASSERT_TRUE(s.ok()) << s.ToString();
    s = store->OpenQueue("pods", {}, queue);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  // The keys until none is ready. Each is done.
  static std::set<std::string> Drain(Queue* queue) {
    std::set<std::string> keys;
    for (std::string key; queue->GetFor(0us, &key).ok();) {
      EXPECT_TRUE(keys.insert(key).second) << key;
      EXPECT_TRUE(queue->Done(key).ok());
    }
    return keys;
  }
  // Adds local keys until the ownership has ended. It has to end in the time that the lease has.
  static void AddUntilNotOwner(Queue* queue, int64_t cut_us) {
    Status s;
    int added = 0;
    int64_t last_us = cut_us;
    EXPECT_TRUE(Eventually([&] {
      const int64_t before_us = Clock::System()->SteadyUs();
      s = queue->Add("local-" + std::to_string(added), kLocal);
      added += s.ok() ? 1 : 0;
      last_us = s.ok() ? before_us : last_us;
      return s.code() == StatusCode::kNotOwner;
    })) << s.ToString();
    EXPECT_GT(added, 10);
    EXPECT_LT(last_us - cut_us, std::chrono::microseconds(kLease - kMargin).count());
    std::string key;
    EXPECT_EQ(queue->GetFor(0us, &key).code(), StatusCode::kNotOwner);
  }

  const support::ScratchDirectory dir_;
};

TEST_F(OutageTest, WithoutAMajorityNothingIsAcknowledgedAsReplicatedAndItMendsItself) {
  EtcdCluster etcd({.members = 3});
  const std::unique_ptr<Store> store = Open("a", etcd.Options(kPrefix));
  Queue* queue = nullptr;
  Lead(store.get(), &queue);
  ASSERT_TRUE(queue->Add("before", kLogged).ok());
  const uint64_t epoch = store->Epoch();
  etcd.Stop(0);
  etcd.Stop(1);
  const int64_t cut_us = Clock::System()->SteadyUs();
  Status replicated;
  std::thread adder([&, queue] { replicated = queue->Add("unsure", kLogged); });
  AddUntilNotOwner(queue, cut_us);
  adder.join();
  EXPECT_THAT(replicated.code(), AnyOf(StatusCode::kNotDurable, StatusCode::kNotOwner))
      << replicated.ToString();
  EXPECT_TRUE(Eventually([&] { return !store->Replica().log.ok(); }));
  EXPECT_EQ(store->WaitForLeadership(0us).code(), StatusCode::kTimedOut);
  etcd.Continue(0);
  etcd.Continue(1);
  Lead(store.get(), &queue);
  EXPECT_GT(store->Epoch(), epoch);
  EXPECT_TRUE(queue->Add("after", kLogged).ok());
  const std::set<std::string> keys = Drain(queue);
  EXPECT_THAT(keys, Contains("before"));
  EXPECT_THAT(keys, Contains("after"));
  // Nobody else has owned the store, so what only this machine had comes back.
  EXPECT_THAT(keys, Contains("local-0"));
  EXPECT_TRUE(store->Close().ok());
}

class OneWayTest : public OutageTest, public testing::WithParamInterface<Proxy::Way> {};

TEST_P(OneWayTest, AnOwnerThatIsCutOffStopsBeforeTheNextOneBegins) {
  EtcdCluster etcd;
  EtcdOptions through = etcd.Options(kPrefix);
  const int listener = Listen(&through.endpoints.at(0));
  Proxy proxy(listener, [&etcd] { return ConnectTo(etcd.endpoint(0)); });
  const std::unique_ptr<Store> owner = Open("a", through);
  Queue* queue = nullptr;
  Lead(owner.get(), &queue);
  ASSERT_TRUE(queue->Add("before", kLogged).ok());
  const std::unique_ptr<Store> other = Open("b", etcd.Options(kPrefix));
  ASSERT_TRUE(Eventually([&] {
    return other->Replica().applied >= owner->Replica().applied && other->Replica().applied > 0;
  }));
  proxy.Cut(GetParam(), true);
  const int64_t cut_us = Clock::System()->SteadyUs();
  Status replicated;
  std::thread adder([&, queue] { replicated = queue->Add("unsure", kLogged); });
  Queue* next = nullptr;
  std::thread successor([&] { Lead(other.get(), &next); });
  Status s;
  std::string key;
  EXPECT_TRUE(Eventually([&] {
    s = queue->Add("local", kLocal);
    return s.code() == StatusCode::kNotOwner;
  }));
  EXPECT_FALSE(other->IsOwner());
  EXPECT_LT(Clock::System()->SteadyUs() - cut_us, std::chrono::microseconds(kLease).count());
  successor.join();
  adder.join();
  ASSERT_NE(next, nullptr);
  EXPECT_FALSE(replicated.ok());
  EXPECT_FALSE(owner->IsOwner());
  EXPECT_TRUE(next->Add("after", kLogged).ok());
  const std::set<std::string> keys = Drain(next);
  EXPECT_THAT(keys, Contains("before"));
  EXPECT_THAT(keys, Contains("after"));
  proxy.Cut(GetParam(), false);
  ASSERT_TRUE(next->Flush(Durability::kReplicated).ok());
  EXPECT_TRUE(Eventually([&] {
    return owner->Replica().applied >= other->Replica().applied && owner->Replica().log.ok();
  })) << owner->Replica().log.ToString();
  EXPECT_TRUE(other->Close().ok());
  static_cast<void>(owner->Close());  // Its last writes were refused.
}

INSTANTIATE_TEST_SUITE_P(Ways, OneWayTest,
                         testing::Values(Proxy::Way::kToServer, Proxy::Way::kToClient));

TEST_F(OutageTest, AFullEtcdIsNamedAndTheStoreMendsItselfOnceItHasRoom) {
  EtcdCluster etcd({.members = 1, .quota_bytes = uint64_t{4} << 20});
  const std::unique_ptr<Store> store = Open("a", etcd.Options(kPrefix));
  Queue* queue = nullptr;
  Lead(store.get(), &queue);
  ASSERT_TRUE(queue->Add("before", kLogged).ok());
  // Another program fills half of it, the store the rest.
  for (int i = 0; i < 2; ++i) etcd.Put("/other/" + std::to_string(i), std::string(1'000'000, 'x'));
  Status s;
  int n = 0;
  const std::string long_key(4000, 'k');
  EXPECT_TRUE(Eventually([&] {
    s = queue->Add(long_key + std::to_string(n++), kLogged);
    return !s.ok();
  }));
  EXPECT_EQ(s.code(), StatusCode::kNotDurable) << s.ToString();
  EXPECT_THAT(store->Health().message(), HasSubstr("NOSPACE"));
  EXPECT_TRUE(queue->Counts().queued > 1);
  for (int i = 0; i < 2; ++i) etcd.Delete("/other/" + std::to_string(i));
  etcd.Compact();
  etcd.Ctl("defrag");
  etcd.Ctl("alarm disarm");
  EXPECT_TRUE(Eventually([&] { return store->Health().ok() && queue->Add("after", kLogged).ok(); }))
      << store->Health().ToString();
  EXPECT_EQ(Drain(queue).size(), static_cast<size_t>(n) + 2);
  EXPECT_TRUE(store->Close().ok());
}

TEST_F(OutageTest, ALogThatHasLostItsDataIsNotTakenForTheStoresLog) {
  EtcdCluster etcd;
  const std::unique_ptr<Store> store = Open("a", etcd.Options(kPrefix));
  Queue* queue = nullptr;
  Lead(store.get(), &queue);
  ASSERT_TRUE(queue->Add("key", kLogged).ok());
  etcd.Kill(0);
  std::filesystem::remove_all(etcd.directory() + "/m0");
  etcd.Start(0);
  EXPECT_TRUE(Eventually([&] {
    return store->Replica().log.message().find("its data was lost") != std::string::npos;
  })) << store->Replica().log.ToString();
  EXPECT_FALSE(store->IsOwner());
  EXPECT_EQ(queue->Add("other", kLogged).code(), StatusCode::kNotOwner);
}

}  // namespace
}  // namespace wq::failover

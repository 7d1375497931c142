// What the owner of a replicated store does when etcd is away in part, in one direction, is full or
// is another etcd: it never acknowledges what is not in the log, and says what is wrong.

#include <poll.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "tests/etcd/cluster.h"
#include "tests/failover/proxy.h"
#include "tests/support/environment.h"
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

[[nodiscard]] bool Eventually(const std::function<bool()>& true_now) {
  const auto until = std::chrono::steady_clock::now() + 40s;
  while (!true_now()) {
    if (std::chrono::steady_clock::now() > until) return false;
    poll(nullptr, 0, 5);
  }
  return true;
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
  Proxy proxy(etcd.endpoint(0));
  EtcdOptions through = etcd.Options(kPrefix);
  through.endpoints = {proxy.endpoint()};
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
  // Another program fills it almost; then the store does.
  for (int i = 0; i < 3; ++i) etcd.Put("/other/" + std::to_string(i), std::string(1'000'000, 'x'));
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
  for (int i = 0; i < 3; ++i) etcd.Delete("/other/" + std::to_string(i));
  static_cast<void>(etcd.Compact());
  const std::string etcdctl = "ETCDCTL_API=3 etcdctl --endpoints=" + etcd.endpoint(0) + " ";
  ASSERT_EQ(std::system((etcdctl + "defrag >/dev/null").c_str()), 0);
  ASSERT_EQ(std::system((etcdctl + "alarm disarm >/dev/null").c_str()), 0);
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

TEST_F(OutageTest, TheLogOfAnotherStoreIsRefused) {
  EtcdCluster etcd;
  std::string uuid;
  for (const char* name : {"a", "b"}) {
    const std::unique_ptr<Store> store = Open(name, etcd.Options("/wq/" + std::string(name)));
    Queue* queue = nullptr;
    Lead(store.get(), &queue);
    ASSERT_TRUE(queue->Add("key", kLogged).ok());
    uuid = store->uuid();
    ASSERT_TRUE(store->Close().ok());
  }
  const std::unique_ptr<Store> mixed = Open("a", etcd.Options("/wq/b"));
  EXPECT_TRUE(Eventually([&] {
    return mixed->Replica().log.code() == StatusCode::kInvalidArgument;
  })) << mixed->Replica().log.ToString();
  EXPECT_THAT(mixed->Replica().log.message(), HasSubstr("is the log of store " + uuid));
  EXPECT_FALSE(mixed->IsOwner());
}

}  // namespace
}  // namespace wq::failover

// The replicas of a store that is measured: the owner in this process, and others in processes of
// their own, which have connections of their own to etcd.
//
// A failure ends the process. Thread-compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/bench/bench.h"
#include "tools/bench/keys.h"
#include "tools/bench/process.h"
#include "tools/bench/replication/members.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq::bench {

class MeasuredLog;

// The monotonic clock, which all processes of a machine share.
int64_t NowNs();
inline constexpr std::chrono::seconds kPatience{120};
// Waits, a millisecond at a time, until `holds()`; after two minutes ends the process.
void Await(std::string_view what, const std::function<bool()>& holds);

// One replica, as this process and its own know it. It is written to the file `replica` in `dir`.
struct Place {
  std::string dir;
  std::string name;
  EtcdOptions etcd;
  bool candidate = true;
  std::chrono::milliseconds lease{5000};

  std::string StoreDir() const { return dir + "/store"; }
  void Save() const;  // Creates `dir`.
  static Place Load(const std::string& dir);
  std::shared_ptr<ReplicatedLog> OpenLog() const;
  // Creates `dir`. `log`: nullptr: OpenLog().
  std::unique_ptr<Store> Open(std::shared_ptr<ReplicatedLog> log = nullptr) const;
};

// Waits until `store` owns itself, and opens its queue.
Queue* OpenOwned(Store* store);
// Whether the replica has all that the log has, and knows the owner.
bool HasCaughtUp(const Store& store, ReplicatedLog* log);
// Adds all keys in batches of `batch_size`; each must be new.
void AddBatches(Queue* queue, const Keys& keys, size_t begin, size_t end, size_t batch_size,
                Durability durability);

// The process of a replica, which runs a scenario of this program. It prints a line when it is
// ready, on which the constructor waits.
class ReplicaProcess {
 public:
  ReplicaProcess(const Settings& settings, const std::string& scenario, const Place& place,
                 size_t keys);

  const Place& place() const { return place_; }
  std::string ReadLine() { return child_.ReadLine(); }
  void Kill() { child_.Kill(); }
  size_t ResidentBytes() const;

 private:
  const Place place_;
  Child child_;
};
// Prints the line for which the constructor waits.
void SayReady();

// A process that only follows, and notes when it has applied what.
class FollowerProcess {
 public:
  FollowerProcess(const Settings& settings, const Place& place);

  struct Applied {
    int64_t at_ns = 0;  // NowNs: it was seen at this instant, a millisecond late at most.
    uint64_t sequence = 0;
  };
  // Waits until it has all of the log; returns everything that it has noted.
  std::vector<Applied> AwaitAll() const;
  void Kill() { process_.Kill(); }
  std::string StoreDir() const { return process_.place().StoreDir(); }

 private:
  ReplicaProcess process_;
  const std::shared_ptr<ReplicatedLog> log_;
};

// An owner in this process, and a follower: a new store with an empty queue, and a new log.
class ReplicatedSubject {
 public:
  ReplicatedSubject(const Settings& settings, const EtcdMembers& members, const std::string& dir);
  ~ReplicatedSubject();  // Deletes the log.

  Queue* queue() const { return queue_; }
  MeasuredLog* log() const { return log_.get(); }
  const FollowerProcess& follower() const { return *follower_; }
  // Both copies must have exactly `keys` pending keys.
  void RequirePending(size_t keys);

 private:
  const EtcdMembers& members_;
  const Place place_;
  std::shared_ptr<MeasuredLog> log_;
  std::unique_ptr<Store> store_;
  Queue* queue_ = nullptr;
  std::unique_ptr<FollowerProcess> follower_;
};

// A prefix in etcd that nothing of this run has used.
std::string NewPrefix();

}  // namespace wq::bench

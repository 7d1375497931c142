#include "tools/bench/replication/members.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "storage/etcd/client.h"
#include "tools/bench/bench.h"
#include "tools/bench/replication/replicas.h"
#include "tools/bench/served/program.h"

namespace wq::bench {
namespace {

constexpr size_t kMembers = 3;

std::string Url(uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

}  // namespace

EtcdMembers::EtcdMembers(const std::string& dir) : dir_(dir + "/etcd") {
  const std::string program = FindProgram("etcd", "Debian's package etcd-server");
  std::filesystem::create_directories(dir_);
  std::set<uint16_t> different;
  while (different.size() < 2 * kMembers) {
    different.insert(FreePort());
  }
  const std::vector<uint16_t> ports(different.begin(), different.end());
  std::string cluster;
  for (size_t i = 0; i < kMembers; ++i) {
    cluster += (i == 0 ? "m" : ",m") + std::to_string(i) + "=" + Url(ports[kMembers + i]);
  }
  for (size_t i = 0; i < kMembers; ++i) {
    const std::string name = "m" + std::to_string(i);
    const std::string url = Url(ports[i]);
    const std::string peer = Url(ports[kMembers + i]);
    endpoints_.push_back("127.0.0.1:" + std::to_string(ports[i]));
    members_.push_back(std::make_unique<Child>(
        program, std::vector<std::string>{
                     "--name=" + name, "--data-dir=" + dir_ + "/" + name,
                     "--listen-client-urls=" + url, "--advertise-client-urls=" + url,
                     "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                     "--initial-cluster=" + cluster, "--snapshot-count=1000", "--logger=zap",
                     "--log-outputs=" + dir_ + "/" + name + ".log"}));
  }
  const std::shared_ptr<ReplicatedLog> log = OpenLog("/wqbench/-");
  Await("three members of etcd with a leader; see " + dir_, [&] {
    const std::vector<LogMember> states = log->Members();
    LogState state;
    return std::all_of(states.begin(), states.end(),
                       [](const LogMember& member) { return member.reachable; }) &&
           std::any_of(states.begin(), states.end(),
                       [](const LogMember& member) { return member.leads; }) &&
           log->State(&state).ok();
  });
}

EtcdMembers::~EtcdMembers() {
  members_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

EtcdOptions EtcdMembers::Options(const std::string& prefix) const {
  EtcdOptions options;
  options.endpoints = endpoints_;
  options.prefix = prefix;
  return options;
}

std::shared_ptr<ReplicatedLog> EtcdMembers::OpenLog(const std::string& prefix) const {
  std::shared_ptr<ReplicatedLog> log;
  Require(OpenEtcdLog(Options(prefix), &log), "OpenEtcdLog");
  return log;
}

size_t EtcdMembers::DatabaseBytes() const {
  size_t largest = 0;
  for (const LogMember& member : OpenLog("/wqbench/-")->Members()) {
    Require(member.reachable, "a member of etcd: " + member.problem);
    largest = std::max<size_t>(largest, member.database_bytes);
  }
  return largest;
}

void EtcdMembers::Compact() const {
  std::shared_ptr<etcd::Client> client;
  Require(etcd::Client::Open(Options("/wqbench/-"), &client), "a client of etcd");
  etcd::pb::RangeRequest request;
  request.set_key("/wqbench/-");
  etcd::pb::RangeResponse answer;
  Require(client->Range(request, client->NewDeadline(), &answer), "reading etcd's revision");
  Require(client->Compact(answer.header().revision(), client->NewDeadline()), "compacting etcd");
}

}  // namespace wq::bench

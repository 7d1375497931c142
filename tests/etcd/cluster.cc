#include "tests/etcd/cluster.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <utility>

#include "tests/support/files.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using std::chrono::seconds;

[[noreturn]] void Die(const std::string& why) {
  std::cerr << "EtcdCluster: " << why << "\n";
  std::abort();
}

void Run(const std::string& command) {
  if (std::system(command.c_str()) != 0) {
    Die("failed: " + command);
  }
}

// Binds a socket to a free port. While it is open no other process is given the port, but etcd can
// listen there, as it sets SO_REUSEADDR too.
FileDescriptor BindFreePort(int* port) {
  FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    Die("no free port on 127.0.0.1");
  }
  *port = ntohs(address.sin_port);
  return fd;
}

std::string NameOf(size_t member) { return "m" + std::to_string(member); }

}  // namespace

EtcdCluster::EtcdCluster(EtcdClusterOptions options) : options_(std::move(options)) {
  if (std::system("command -v etcd >/dev/null") != 0) {
    Die("etcd is not installed (Debian: etcd-server)");
  }
  if (options_.tls) {
    MakeAuthority("ca");
    MakeCertificate("server");
    MakeCertificate("client");
  }
  members_.resize(options_.members);
  for (Member& member : members_) {
    int port = 0;
    member.held_ports[0] = BindFreePort(&port);
    member.endpoint = "127.0.0.1:" + std::to_string(port);
    member.held_ports[1] = BindFreePort(&member.peer_port);
  }
  for (size_t i = 0; i < members_.size(); ++i) {
    Launch(i);
  }
  WaitUntilHealthy();
  if (!options_.root_password.empty()) {
    MakeUsers();
  }
}

EtcdCluster::~EtcdCluster() {
  for (size_t i = 0; i < members_.size(); ++i) {
    Kill(i);
  }
}

EtcdOptions EtcdCluster::Options(std::string prefix) const {
  EtcdOptions options;
  options.prefix = std::move(prefix);
  for (const Member& member : members_) {
    options.endpoints.push_back(member.endpoint);
  }
  if (options_.tls) {
    options.ca_file = directory_ / "ca.pem";
    options.cert_file = directory_ / "client.pem";
    options.key_file = directory_ / "client.key";
  }
  if (!options_.root_password.empty()) {
    options.user = "user";
    options.password = "user's";
  }
  return options;
}

void EtcdCluster::Launch(size_t member) {
  if (members_[member].pid != 0) {
    return;
  }
  const std::string scheme = options_.tls ? "https://" : "http://";
  const auto peer = [this](size_t i) {
    return "http://127.0.0.1:" + std::to_string(members_[i].peer_port);
  };
  std::string cluster;
  for (size_t i = 0; i < members_.size(); ++i) {
    cluster += (i == 0 ? "" : ",") + NameOf(i) + "=" + peer(i);
  }
  const std::string url = scheme + members_[member].endpoint;
  std::vector<std::string> words = {"etcd",
                                    "--name=" + NameOf(member),
                                    "--data-dir=" + (directory_ / NameOf(member)),
                                    "--listen-client-urls=" + url,
                                    "--advertise-client-urls=" + url,
                                    "--listen-peer-urls=" + peer(member),
                                    "--initial-advertise-peer-urls=" + peer(member),
                                    "--initial-cluster=" + cluster,
                                    "--snapshot-count=1000",
                                    "--bcrypt-cost=4",
                                    "--logger=zap"};
  if (options_.quota_bytes != 0) {
    words.push_back("--quota-backend-bytes=" + std::to_string(options_.quota_bytes));
  }
  if (options_.tls) {
    words.push_back("--cert-file=" + (directory_ / "server.pem"));
    words.push_back("--key-file=" + (directory_ / "server.key"));
    words.push_back("--trusted-ca-file=" + (directory_ / "ca.pem"));
    words.emplace_back("--client-cert-auth");
  }
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  const int log = open((directory_ / (NameOf(member) + ".log")).c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {  // Only calls that are safe after a fork of a process with threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(1);
    }
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(log);
  if (pid < 0) {
    Die("fork failed");
  }
  members_[member].pid = pid;
}

void EtcdCluster::Kill(size_t member) {
  const pid_t pid = std::exchange(members_[member].pid, 0);
  if (pid != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void EtcdCluster::Stop(size_t member) {
  kill(members_[member].pid, SIGSTOP);
  waitpid(members_[member].pid, nullptr, WUNTRACED);  // It runs for a moment after kill.
}

void EtcdCluster::Continue(size_t member) { kill(members_[member].pid, SIGCONT); }

void EtcdCluster::Start(size_t member) {
  Launch(member);
  WaitUntilHealthy();
}

void EtcdCluster::WaitUntilHealthy() {
  EtcdOptions options = Options("/wq/-");
  options.request_timeout = seconds(1);
  options.user = options.password = "";
  std::shared_ptr<ReplicatedLog> log;
  if (Status s = OpenEtcdLog(options, &log); !s.ok()) {
    Die(s.ToString());
  }
  std::string why;
  const bool healthy = support::Eventually([&] {
    const std::vector<LogMember> states = log->Members();
    bool ready = true;
    bool led = false;
    for (size_t i = 0; i < states.size(); ++i) {
      if (members_[i].pid == 0) {
        continue;
      }
      if (waitpid(members_[i].pid, nullptr, WNOHANG) != 0) {
        Die("a member of etcd has ended: " + support::ReadFile(directory_ / (NameOf(i) + ".log")));
      }
      ready = ready && states[i].reachable;
      led = led || states[i].leads;
    }
    LogState state;
    // With users the read is refused, but only by a cluster that works.
    const Status read = ready && led ? log->State(&state) : Status::IOError("no leader");
    why = read.ToString();
    return read.ok() || why.find("user name is empty") != std::string::npos;
  });
  if (!healthy) {
    Die("etcd is not healthy: " + why);
  }
}

size_t EtcdCluster::Leader() const {
  std::shared_ptr<ReplicatedLog> log;
  if (Status s = OpenEtcdLog(Options("/wq/-"), &log); !s.ok()) {
    Die(s.ToString());
  }
  const std::vector<LogMember> states = log->Members();
  size_t leader = 0;
  while (leader < states.size() && !states[leader].leads) {
    ++leader;
  }
  return leader;
}

void EtcdCluster::MakeAuthority(std::string_view name) {
  const std::string file = directory_ / std::string(name);
  Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 10 -subj "
      "/CN=" +
      std::string(name) + " -keyout '" + file + ".key' -out '" + file + ".pem' 2>/dev/null");
}

void EtcdCluster::MakeCertificate(std::string_view name, std::string_view ca) {
  const std::string file = directory_ / std::string(name);
  const std::string authority = directory_ / std::string(ca);
  std::ofstream(file + ".ext") << "subjectAltName=IP:127.0.0.1,DNS:localhost\n"
                                  "extendedKeyUsage=serverAuth,clientAuth\n";
  Run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=" +
      std::string(name) + " -keyout '" + file + ".key' -out '" + file + ".csr' 2>/dev/null");
  Run("openssl x509 -req -in '" + file + ".csr' -CA '" + authority + ".pem' -CAkey '" + authority +
      ".key' -set_serial " + std::to_string(std::hash<std::string_view>()(name) % 100'000 + 1) +
      " -days 10 -extfile '" + file + ".ext' -out '" + file + ".pem' 2>/dev/null");
}

void EtcdCluster::Ctl(const std::string& words, const std::string& input) const {
  const std::string command =
      "ETCDCTL_API=3 etcdctl --endpoints=" + members_[0].endpoint + " " + words + " >/dev/null";
  FILE* const pipe = popen(command.c_str(), "w");
  if (pipe == nullptr || fwrite(input.data(), 1, input.size(), pipe) != input.size() ||
      pclose(pipe) != 0) {
    Die("failed: " + command);
  }
}

void EtcdCluster::MakeUsers() const {
  Ctl("role add wq");
  Ctl("role grant-permission --prefix wq readwrite /wq/");
  Ctl("user add root --interactive=false", options_.root_password);
  Ctl("user add user --interactive=false", "user's");
  Ctl("user grant-role root root");
  Ctl("user grant-role user wq");
  Ctl("auth enable");
}

void EtcdCluster::Compact() const {
  Ctl("compact --physical $(ETCDCTL_API=3 etcdctl --endpoints=" + members_[0].endpoint +
      " get / -w json | grep -o '\"revision\":[0-9]*' | tr -dc 0-9)");
}

}  // namespace wq

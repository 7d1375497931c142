// Opens a store with a control socket and metrics, adds a key by a client of the socket, and reads
// both again. Also opens a log in etcd, which no etcd needs to answer for.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "wq/etcd_log.h"
#include "wq/live_store.h"
#include "wq/prometheus.h"
#include "wq/queue.h"
#include "wq/server.h"
#include "wq/store.h"

namespace {

wq::Status Run() {
  std::shared_ptr<wq::ReplicatedLog> log;
  if (wq::Status s = wq::OpenEtcdLog({.endpoints = {"127.0.0.1:2379"}, .prefix = "/wq/pods"}, &log);
      !s.ok()) {
    return s;
  }
  const auto provider = wq::MakePrometheusProvider();
  std::unique_ptr<wq::Store> store;
  wq::Queue* pods = nullptr;
  wq::Status s =
      wq::Store::Open({.create_if_missing = true, .metrics = provider}, "pods.wq", &store);
  if (s.ok()) s = store->OpenQueue("pods", {}, &pods);
  std::unique_ptr<wq::Server> server;
  if (s.ok()) s = wq::Server::Open(store.get(), {.control_socket = true}, &server);
  std::unique_ptr<wq::LiveStore> client;
  if (s.ok()) s = wq::LiveStore::Connect("pods.wq", &client);
  if (!s.ok()) return s;
  const auto queue = client->Access("pods", false);
  const std::string_view key = "default/pod-1";
  wq::BatchResult result;
  s = queue->Add({&key, 1}, {}, {}, &result);
  if (!s.ok()) return s;
  std::cout << "pods: " << pods->Len() << "\n";
  const std::string text = wq::PrometheusText(*provider);
  return text.find("workqueue_depth{controller=\"pods\"") != std::string::npos
             ? wq::Status()
             : wq::Status::NotFound("workqueue_depth in: " + text);
}

}  // namespace

int main() {
  const wq::Status s = Run();
  if (!s.ok()) std::cerr << s.ToString() << "\n";
  return s.ok() ? 0 : 1;
}

// A worker of another process's store that becomes its owner.

#include "tools/wqctl/work/work_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/environment.h"
#include "wq/server.h"
#include "wq/store.h"

namespace wqctl {
namespace {

TEST(WorkStoreTest, WhatATakeoverFailsOnIsToldAsItIsAndMayPass) {
  const wq::support::ScratchDirectory scratch;
  const std::string dir = scratch / "store";
  std::unique_ptr<wq::Store> owner;
  wq::StoreOptions store_options;
  store_options.create_if_missing = true;
  ASSERT_TRUE(wq::Store::Open(store_options, dir, &owner).ok());
  wq::Queue* queue = nullptr;
  ASSERT_TRUE(owner->OpenQueue("q", {}, &queue).ok());
  wq::ServerOptions server_options;
  server_options.control_socket = true;
  std::unique_ptr<wq::Server> server;
  ASSERT_TRUE(wq::Server::Open(owner.get(), server_options, &server).ok());

  std::unique_ptr<wq::Store> other;
  ASSERT_TRUE(wq::Store::OpenInMemory({}, &other).ok());
  server_options.control_socket = false;
  server_options.http_address = "127.0.0.1:0";
  std::unique_ptr<wq::Server> has_port;
  ASSERT_TRUE(wq::Server::Open(other.get(), server_options, &has_port).ok());

  WorkStoreOptions options;
  options.dir = dir;
  options.queues = {"q"};
  options.http_address = "127.0.0.1:" + std::to_string(has_port->http_port());
  options.on_ready = [] {};
  WorkStore store(options);
  WorkQueues queues;
  bool again = false;
  ASSERT_TRUE(store.Open(&queues, &again).ok());
  queues.clear();
  server.reset();
  owner.reset();
  wq::Status s = store.Open(&queues, &again);
  EXPECT_EQ(s.code(), wq::StatusCode::kIOError) << s.ToString() << ": it is no failed store";
  has_port.reset();
  s = store.Open(&queues, &again);
  EXPECT_TRUE(s.ok()) << s.ToString();
}

}  // namespace
}  // namespace wqctl

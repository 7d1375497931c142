// wq_etcd_log_open: its options reach OpenEtcdLog, which is one of this test's own here.

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/memory_log.h"
#include "wq/c/etcd.h"
#include "wq/etcd_log.h"

namespace wq {
namespace {

EtcdOptions opened;  // By the latest call.
Status answer;

}  // namespace

Status OpenEtcdLog(const EtcdOptions& options, std::shared_ptr<ReplicatedLog>* log) {
  opened = options;
  if (answer.ok()) {
    *log = std::make_shared<support::MemoryLog>();
  }
  return answer;
}

namespace {

TEST(EtcdLog, TheOptionsAreThoseOfCxx) {
  const char* const endpoints[] = {"a:1", "b:2"};
  wq_etcd_options options{};
  options.size = sizeof options;
  options.endpoints = endpoints;
  options.endpoint_count = 2;
  options.prefix = "/wq/pods";
  options.ca_file = "ca.pem";
  options.cert_file = "cert.pem";
  options.key_file = "key.pem";
  options.user = "wq";
  options.password = "secret";
  options.request_timeout_ms = 1500;
  options.no_compaction = 1;
  answer = Status::Ok();
  wq_replicated_log* log = nullptr;
  wq_error error{};
  ASSERT_EQ(wq_etcd_log_open(&options, &log, &error), WQ_OK) << error.message;
  EXPECT_NE(log, nullptr);
  wq_replicated_log_free(log);
  EXPECT_EQ(opened.endpoints, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(opened.prefix, "/wq/pods");
  EXPECT_EQ(opened.ca_file, "ca.pem");
  EXPECT_EQ(opened.cert_file, "cert.pem");
  EXPECT_EQ(opened.key_file, "key.pem");
  EXPECT_EQ(opened.user, "wq");
  EXPECT_EQ(opened.password, "secret");
  EXPECT_EQ(opened.request_timeout, std::chrono::milliseconds(1500));
  EXPECT_FALSE(opened.compact);
}

TEST(EtcdLog, ZeroIsTheDefault) {
  wq_etcd_options options{};
  options.size = sizeof options;
  answer = Status::Ok();
  wq_replicated_log* log = nullptr;
  ASSERT_EQ(wq_etcd_log_open(&options, &log, nullptr), WQ_OK);
  wq_replicated_log_free(log);
  const EtcdOptions defaults;
  EXPECT_TRUE(opened.endpoints.empty());
  EXPECT_EQ(opened.ca_file, "");
  EXPECT_EQ(opened.user, "");
  EXPECT_EQ(opened.request_timeout, defaults.request_timeout);
  EXPECT_EQ(opened.compact, defaults.compact);
}

TEST(EtcdLog, ErrorsAreReported) {
  wq_etcd_options options{};
  options.size = sizeof options;
  wq_error error{};
  answer = Status::InvalidArgument("endpoints is empty");
  wq_replicated_log* log = nullptr;
  EXPECT_EQ(wq_etcd_log_open(&options, &log, &error), WQ_INVALID_ARGUMENT);
  EXPECT_EQ(log, nullptr);
  EXPECT_EQ(error.code, WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "endpoints is empty");

  answer = Status::Ok();
  EXPECT_EQ(wq_etcd_log_open(&options, nullptr, &error), WQ_INVALID_ARGUMENT);
  options.endpoint_count = 1;
  EXPECT_EQ(wq_etcd_log_open(&options, &log, &error), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "options.endpoints is NULL");
  const char* const endpoints[] = {nullptr};
  options.endpoints = endpoints;
  EXPECT_EQ(wq_etcd_log_open(&options, &log, &error), WQ_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "options.endpoints[0] is NULL");
  options.size = 1;
  EXPECT_EQ(wq_etcd_log_open(&options, &log, &error), WQ_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace wq

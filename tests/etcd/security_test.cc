// EtcdLog with certificates, and with users: what works, and what the errors say.
#include <chrono>
#include <filesystem>

#include "tests/etcd/fixture.h"

namespace wq {
namespace {

using std::chrono::milliseconds;

// The error of a request that fails. What TLS refuses is tried again until the timeout; on a busy
// machine that may be over before the first refusal.
Status ErrorOf(EtcdOptions options) {
  options.request_timeout = milliseconds(400);
  const std::shared_ptr<ReplicatedLog> log = OpenLog(options);
  LogState state;
  Status s;
  EXPECT_TRUE(support::Eventually([&] {
    s = log->State(&state);
    return s.message().find("did not answer in time") == std::string::npos;
  }));
  return s;
}

TEST_F(EtcdTest, Certificates) {
  StartOne({.members = 1, .tls = true});
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 3).ok());
  EXPECT_EQ(Text(Collect(log_->Follow(1).get(), 3).entries), Expected(1, 3));
  EXPECT_TRUE(log_->Renew(&owned_).ok());
  EXPECT_EQ(LedMembers().size(), 1U);

  const EtcdOptions good = etcd_->Options("/wq/test");
  const std::string folder = etcd_->directory() + "/";
  etcd_->MakeAuthority("stranger");
  etcd_->MakeCertificate("strange", "stranger");
  const auto io_error = StatusCode::kIOError;

  EtcdOptions options = good;
  options.ca_file = folder + "stranger.pem";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {etcd_->endpoint(0), "TLS failed"}));
  options = good;
  options.cert_file = folder + "strange.pem";
  options.key_file = folder + "strange.key";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {etcd_->endpoint(0), "TLS"}));
  options = good;
  options.cert_file = options.key_file = "";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {etcd_->endpoint(0), "TLS"}));
  options.ca_file = "";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {etcd_->endpoint(0), "TLS"}));
}

TEST_F(EtcdTest, ANewServerCertificateOfAStrangerIsRefused) {
  StartOne({.members = 1, .tls = true});
  etcd_->MakeAuthority("stranger");
  etcd_->MakeCertificate("server", "stranger");  // Another than the one that it has started with.
  etcd_->Kill(0);
  etcd_->Launch(0);
  const auto impatient = Impatient();
  Status s;
  EXPECT_TRUE(support::Eventually([&] {
    s = impatient->Append(owned_.epoch, 1, "x");
    return s.message().find("TLS failed") != std::string::npos;
  }));
  EXPECT_TRUE(IsError(s, StatusCode::kIOError, {"TLS failed", etcd_->endpoint(0)}));
}

TEST_F(EtcdTest, Users) {
  StartOne({.root_password = "root's"});
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 1, 3).ok());
  const auto follower = log_->Follow(1);
  EXPECT_EQ(Text(Collect(follower.get(), 3).entries), Expected(1, 3));
  EXPECT_TRUE(log_->Renew(&owned_).ok());
  ASSERT_TRUE(log_->Truncate(owned_.epoch, 2).ok());
  EXPECT_EQ(LedMembers().size(), 1U);

  const EtcdOptions good = etcd_->Options("/wq/test");
  const auto io_error = StatusCode::kIOError;
  EtcdOptions options = good;
  options.password = "guess";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error,
                      {"authentication failed: wrong user or password", "user user"}));
  EXPECT_EQ(ErrorOf(options).message().find("guess"), std::string::npos);
  options.user = "nobody";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {"wrong user or password", "user nobody"}));
  options = good;
  options.user = options.password = "";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {"it wants a user and a password"}));
  options = good;
  options.prefix = "/other";
  EXPECT_TRUE(IsError(ErrorOf(options), io_error, {"may not use the keys below this prefix"}));

  // A member that restarts has forgotten the tokens that it gave.
  etcd_->Kill(0);
  etcd_->Start(0);
  ASSERT_TRUE(AppendAll(log_.get(), owned_, 4, 5).ok());
  EXPECT_EQ(Text(Collect(follower.get(), 2).entries), Expected(4, 5));
}

}  // namespace
}  // namespace wq

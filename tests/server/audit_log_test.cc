#include "server/api/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "wq/v1/admin.pb.h"

namespace wq {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() {
    Method change = Unary<v1::ChangeRequest, v1::ChangeResponse>(
        "wq.v1.Admin", "Change", [this](const auto& request, auto* response) {
          ++calls_;
          response->set_done(static_cast<uint64_t>(request.keys_size()));
          return result_;
        });
    change.audited = true;
    table_.Add(std::move(change));
    Method set_limits = Unary<v1::SetLimitsRequest, v1::SetLimitsResponse>(
        "wq.v1.Admin", "SetLimits", [](const auto&, auto*) { return Status::Ok(); });
    set_limits.audited = true;
    table_.Add(std::move(set_limits));
    table_.Add(Unary<v1::FlushRequest, v1::FlushResponse>(
        "wq.v1.Admin", "Flush", [](const auto&, auto*) { return Status::Ok(); }));
    log_.Audit(&table_);
  }
  Status Change(const std::vector<std::string>& keys) {
    v1::ChangeRequest request;
    request.set_queue("pods");
    request.set_kind(v1::ChangeRequest::DELETE);
    for (const std::string& key : keys) {
      request.add_keys(key);
    }
    v1::ChangeResponse response;
    return table_.Find("/wq.v1.Admin/Change")->call({.peer = "unix:7"}, request, &response);
  }
  static std::vector<json> Lines(const std::string& path) {
    std::vector<json> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }

  const support::ScratchDirectory dir_;
  const std::string path_ = dir_ / "audit.jsonl";
  AuditLog log_;
  MethodTable table_;
  Status result_;
  int calls_ = 0;
};

TEST_F(AuditLogTest, HasALineForEachAuditedCall) {
  ASSERT_TRUE(log_.Open(path_).ok());
  ASSERT_TRUE(Change({"default/web-1", "\x01<b>"}).ok());
  const v1::FlushRequest flush;
  v1::FlushResponse flushed;
  ASSERT_TRUE(table_.Find("/wq.v1.Admin/Flush")->call({.peer = "x"}, flush, &flushed).ok());
  result_ = Status::NotFound("there is no queue 'pods'");
  EXPECT_EQ(Change({}).code(), StatusCode::kNotFound);
  result_ = Status::Ok();
  ASSERT_TRUE(Change({}).ok());  // It asks only whether the queue takes changes.
  const std::vector<json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0]["at"].get<std::string>(), MatchesRegex("20..-..-..T..:..:..[.]......Z"));
  EXPECT_EQ(lines[0]["peer"], "unix:7");
  EXPECT_EQ(lines[0]["call"], "Admin.Change");
  EXPECT_EQ(lines[0]["request"]["queue"], "pods");
  EXPECT_EQ(lines[0]["request"]["kind"], "DELETE");
  EXPECT_EQ(lines[0]["request"]["keys"], json({"default/web-1", "\\x01<b>"}));
  EXPECT_EQ(lines[0]["request"]["key_count"], 2);
  EXPECT_EQ(lines[0]["status"], "Ok");
  EXPECT_EQ(lines[0]["response"]["done"], "2");
  EXPECT_EQ(lines[1]["status"], "NotFound");
  EXPECT_EQ(lines[1]["message"], "there is no queue 'pods'");
  EXPECT_FALSE(lines[1].contains("response"));
  struct stat info {};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(AuditLogTest, GroupsAreReadable) {
  ASSERT_TRUE(log_.Open(path_).ok());
  v1::SetLimitsRequest request;
  request.set_queue("pods");
  request.set_group("g\x01");
  request.mutable_limits()->set_max_processing(2);
  v1::SetLimitsResponse response;
  ASSERT_TRUE(
      table_.Find("/wq.v1.Admin/SetLimits")->call({.peer = "unix:7"}, request, &response).ok());
  const std::vector<json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["call"], "Admin.SetLimits");
  EXPECT_EQ(lines[0]["request"]["group"], "g\\x01");
  EXPECT_EQ(lines[0]["request"]["limits"]["max_processing"], 2);
}

TEST_F(AuditLogTest, ALineHasTheFirstKeysOfMany) {
  ASSERT_TRUE(log_.Open(path_).ok());
  ASSERT_TRUE(Change(std::vector<std::string>(10'000, "key")).ok());
  const std::vector<json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["request"]["keys"].size(), size_t{AuditLog::kMaxAuditedKeys});
  EXPECT_EQ(lines[0]["request"]["key_count"], 10'000);
}

TEST_F(AuditLogTest, OpenedAnewItWritesToTheNewFile) {
  ASSERT_TRUE(log_.Open(path_).ok());
  ASSERT_TRUE(Change({"a"}).ok());
  std::filesystem::rename(path_, dir_ / "old");
  ASSERT_TRUE(Change({"b"}).ok());
  ASSERT_TRUE(log_.Open(path_).ok());
  ASSERT_TRUE(Change({"c"}).ok());
  EXPECT_EQ(Lines(dir_ / "old").size(), 2U);
  const std::vector<json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["request"]["keys"][0], "c");
}

TEST_F(AuditLogTest, APathThatCannotBeOpenedIsNamed) {
  const Status s = log_.Open(dir_ / "none/audit.jsonl");
  EXPECT_EQ(s.code(), StatusCode::kIOError);
  EXPECT_THAT(s.message(), HasSubstr("none/audit.jsonl"));
}

// /dev/full is a disk without space.
TEST_F(AuditLogTest, CallsAreRefusedUntilALineThatFailedIsWritten) {
  ASSERT_TRUE(log_.Open("/dev/full").ok());
  EXPECT_TRUE(Change({"a"}).ok()) << "its line is tried after it";
  const Status refused = Change({"b"});
  EXPECT_EQ(refused.code(), StatusCode::kIOError);
  EXPECT_THAT(refused.message(), HasSubstr("/dev/full"));
  EXPECT_EQ(calls_, 1);
  ASSERT_TRUE(log_.Open(path_).ok());
  EXPECT_TRUE(Change({"c"}).ok());
  const std::vector<json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["request"]["keys"][0], "a");
  EXPECT_EQ(lines[1]["request"]["keys"][0], "c");
}

}  // namespace
}  // namespace wq

#include "server/api/audit_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/environment.h"
#include "wq/v1/admin.pb.h"
#include "wq/v1/queue.pb.h"

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
          if (during_ != nullptr) {
            during_();
          }
          response->set_done(static_cast<uint64_t>(request.keys_size()));
          return result_;
        });
    change.audited = Method::Audited::kBeforeAndAfter;
    table_.Add(std::move(change));
    Method set_limits = Unary<v1::SetLimitsRequest, v1::SetLimitsResponse>(
        "wq.v1.Admin", "SetLimits", [](const auto&, auto*) { return Status::Ok(); });
    set_limits.audited = Method::Audited::kBeforeAndAfter;
    table_.Add(std::move(set_limits));
    Method add = Unary<v1::AddRequest, v1::AddResponse>(
        "wq.v1.Queue", "Add", [this](const auto&, auto*) { return result_; });
    add.audited = Method::Audited::kBefore;
    table_.Add(std::move(add));
    table_.Add(Unary<v1::FlushRequest, v1::FlushResponse>(
        "wq.v1.Admin", "Flush", [](const auto&, auto*) { return Status::Ok(); }));
    log_.Audit(&table_);
  }
  static v1::AddRequest AddOf(const std::string& key) {
    v1::AddRequest request;
    request.set_queue("pods");
    request.add_keys(key);
    return request;
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
  // All lines; each of them is JSON.
  static std::vector<json> AllLines(const std::string& path) {
    std::vector<json> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }
  // Those of the calls that have ended.
  static std::vector<json> Lines(const std::string& path) {
    std::vector<json> lines = AllLines(path);
    std::erase_if(lines, [](const json& line) { return !line.contains("status"); });
    return lines;
  }

  const support::ScratchDirectory dir_;
  const std::string path_ = dir_ / "audit.jsonl";
  AuditLog log_;
  MethodTable table_;
  Status result_;
  int calls_ = 0;
  std::function<void()> during_;  // Called by each Change that is made.
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

TEST_F(AuditLogTest, AnAddHasOneLineUnlessItFailed) {
  ASSERT_TRUE(log_.Open(path_).ok());
  const Caller caller{.peer = "ipv4:192.0.2.7:1", .role = "operator", .token = "/etc/wq/token"};
  const Method* const add = table_.Find("/wq.v1.Queue/Add");
  v1::AddResponse response;
  ASSERT_TRUE(add->call(caller, AddOf("a"), &response).ok());
  ASSERT_TRUE(add->call(caller, v1::AddRequest(), &response).ok());  // It adds nothing.
  result_ = Status::NotFound("there is no queue 'pods'");
  EXPECT_FALSE(add->call(caller, AddOf("b"), &response).ok());
  const std::vector<json> lines = AllLines(path_);
  ASSERT_EQ(lines.size(), 4U);  // With that of the opening.
  EXPECT_EQ(lines[1]["request"]["keys"], json({"a"}));
  EXPECT_EQ(lines[1]["role"], "operator");
  EXPECT_EQ(lines[1]["token"], "/etc/wq/token");
  EXPECT_FALSE(lines[1].contains("status"));
  EXPECT_EQ(lines[2]["request"]["keys"], json({"b"}));
  EXPECT_FALSE(lines[2].contains("status"));
  EXPECT_EQ(lines[3]["status"], "NotFound");
}

// Whoever guesses tokens while the disk is full must not lock the operators out.
TEST_F(AuditLogTest, ALineOfWrongTokensThatCannotBeWrittenIsNotKept) {
  ASSERT_TRUE(log_.Open(path_).ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{.rlim_cur = std::filesystem::file_size(path_), .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  log_.NoteWrongTokens("ipv4:192.0.2.7", 11);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  log_.NoteWrongTokens("ipv4:192.0.2.7", 12);
  const std::vector<json> lines = AllLines(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["call"], "Token.Wrong");
  EXPECT_EQ(lines[1]["peer"], "ipv4:192.0.2.7");
  EXPECT_EQ(lines[1]["count"], 12);
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

TEST_F(AuditLogTest, ACallHasALineBeforeItIsMade) {
  ASSERT_TRUE(log_.Open(path_).ok());
  during_ = [this] {
    const std::vector<json> lines = AllLines(path_);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0]["call"], "AuditLog.Open");
    EXPECT_EQ(lines[0]["process"], getpid());
    EXPECT_EQ(lines[1]["request"]["keys"][0], "a");
    EXPECT_FALSE(lines[1].contains("status"));
  };
  ASSERT_TRUE(Change({"a"}).ok());
  EXPECT_EQ(calls_, 1);
  const std::vector<json> lines = AllLines(path_);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2]["at"], lines[1]["at"]);
  EXPECT_EQ(lines[2]["status"], "Ok");
}

// /dev/full is a disk without space.
TEST_F(AuditLogTest, AFileThatCannotBeWrittenIsNotOpened) {
  const Status full = log_.Open("/dev/full");
  EXPECT_EQ(full.code(), StatusCode::kIOError);
  EXPECT_THAT(full.message(), HasSubstr("cannot write the audit log /dev/full: No space left"));
  const Status directory = log_.Open(dir_ / "");
  EXPECT_EQ(directory.code(), StatusCode::kIOError);
  EXPECT_THAT(directory.message(), HasSubstr("Is a directory"));
}

TEST_F(AuditLogTest, AnOpeningThatFailsLeavesTheFormerFile) {
  ASSERT_TRUE(log_.Open(path_).ok());
  EXPECT_FALSE(log_.Open("/dev/full").ok());
  EXPECT_TRUE(Change({"a"}).ok());
  EXPECT_EQ(Lines(path_).size(), 1U);
}

// A file that may not grow is as a disk that is full. A whole line fits, and a part of the next.
TEST_F(AuditLogTest, NoCallIsMadeWhileItsLineCannotBeWritten) {
  ASSERT_TRUE(log_.Open(path_).ok());
  const rlim_t size = std::filesystem::file_size(path_);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto limit = [&before](rlim_t bytes) {
    const rlimit now{.rlim_cur = bytes, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
  };
  limit(size + 10);
  const Status refused = Change({"b"});
  limit(before.rlim_cur);
  EXPECT_EQ(refused.code(), StatusCode::kIOError);
  EXPECT_THAT(refused.message(), HasSubstr("nothing is changed: cannot write the audit log"));
  EXPECT_THAT(refused.message(), HasSubstr(path_));
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(std::filesystem::file_size(path_), size) << "a part of the line was left";
  EXPECT_TRUE(Change({"c"}).ok());
  EXPECT_EQ(AllLines(path_).size(), 3U);
  EXPECT_EQ(Lines(path_)[0]["request"]["keys"][0], "c");
}

TEST_F(AuditLogTest, CallsAreRefusedUntilTheSecondLineOfAnEarlierOneIsWritten) {
  ASSERT_TRUE(log_.Open(path_).ok());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  during_ = [&] {
    const rlimit full{.rlim_cur = std::filesystem::file_size(path_), .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  };
  const Status made = Change({"a"});
  during_ = nullptr;
  const Status refused = Change({"b"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(made.ok()) << made.ToString();
  EXPECT_EQ(refused.code(), StatusCode::kIOError);
  EXPECT_EQ(calls_, 1);
  std::filesystem::rename(path_, dir_ / "old");
  ASSERT_TRUE(log_.Open(path_).ok());
  EXPECT_TRUE(Change({"c"}).ok());
  EXPECT_EQ(AllLines(dir_ / "old").size(), 2U);
  const std::vector<json> lines = Lines(path_);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["request"]["keys"][0], "a");
  EXPECT_EQ(lines[1]["request"]["keys"][0], "c");
}

// The program's own handling of SIGPIPE stays: by default it would end this test.
TEST_F(AuditLogTest, NothingWaitsForTheReaderOfAFifo) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const Status no_reader = log_.Open(path_);
  EXPECT_EQ(no_reader.code(), StatusCode::kIOError);
  EXPECT_THAT(no_reader.message(), HasSubstr(path_));
  EXPECT_THAT(no_reader.message(), HasSubstr("no process reads it: start its reader first"));
  FileDescriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  const auto sigpipe = std::signal(SIGPIPE, SIG_DFL);
  ASSERT_TRUE(log_.Open(path_).ok());
  EXPECT_TRUE(Change({"a"}).ok());
  Status full;
  while (full.ok() && calls_ < 10'000) {
    full = Change({std::string(3000, 'b')});
  }
  EXPECT_THAT(full.message(), HasSubstr("its reader does not keep up"));
  const int calls = calls_;
  reader = FileDescriptor(-1);
  EXPECT_THAT(Change({"c"}).message(), HasSubstr("Broken pipe"));
  EXPECT_EQ(calls_, calls);
  std::signal(SIGPIPE, sigpipe);
}

}  // namespace
}  // namespace wq

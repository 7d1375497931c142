#include "server/api/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wq/v1/admin.pb.h"
#include "wq/v1/queue.pb.h"

namespace wq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChangeLogTest : public testing::Test {
 protected:
  ChangeLogTest() {
    table_.Add(Unary<v1::ChangeRequest, v1::ChangeResponse>(
        "wq.v1.Admin", "Change", [this](const auto&, auto*) { return result_; }));
    table_.Add(Unary<v1::ChangeMatchingRequest, v1::ChangeMatchingResponse>(
        "wq.v1.Admin", "ChangeMatching", [](const auto&, auto*) { return Status::Ok(); }));
    table_.Add(Unary<v1::GetStoreRequest, v1::GetStoreResponse>(
        "wq.v1.Admin", "GetStore", [](const auto&, auto*) { return Status::Ok(); }));
    table_.Add(Unary<v1::FlushRequest, v1::FlushResponse>(
        "wq.v1.Admin", "Flush", [](const auto&, auto*) { return Status::Ok(); }));
    LogChanges([this](const std::string& line) { lines_.push_back(line); }, &table_);
  }
  Status Call(const std::string& path, const Caller& caller, const Message& request) {
    const Method* const method = table_.Find(path);
    const std::unique_ptr<Message> response(method->response->New());
    return method->call(caller, request, response.get());
  }
  Status Change(const Caller& caller, int keys) {
    v1::ChangeRequest request;
    request.set_queue("pods");
    request.set_kind(v1::ChangeRequest::DELETE);
    for (int i = 0; i < keys; ++i) {
      request.add_keys("k\n" + std::to_string(i));
    }
    return Call("/wq.v1.Admin/Change", caller, request);
  }

  Status result_;
  std::vector<std::string> lines_;
  MethodTable table_;
};

TEST_F(ChangeLogTest, ALineSaysWhoHasChangedWhat) {
  EXPECT_TRUE(Change({.peer = "unix:7", .role = "operator"}, 1).ok());
  result_ = Status::NotFound("there is no queue 'pods'");
  EXPECT_EQ(Change({.peer = "ipv4:192.0.2.7:1", .role = "operator", .token = "/etc/wq/to\nken"}, 1)
                .code(),
            StatusCode::kNotFound);
  EXPECT_THAT(
      lines_,
      ElementsAre(
          R"(Admin.Change of unix:7 (operator): queue: "pods" kind: DELETE keys: "k\n0": Ok)",
          R"(Admin.Change of ipv4:192.0.2.7:1 (operator, token /etc/wq/to\nken): queue: "pods" )"
          R"(kind: DELETE keys: "k\n0": NotFound: there is no queue 'pods')"));
}

TEST_F(ChangeLogTest, OfManyKeysALineHasTheFirst) {
  EXPECT_TRUE(Change({.peer = "unix:7", .role = "operator"}, 1000).ok());
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_TRUE(lines_[0].ends_with(R"(keys: "k\n9" and 990 keys more: Ok)")) << lines_[0];
}

TEST_F(ChangeLogTest, WhatChangesNothingHasNoLine) {
  EXPECT_TRUE(Change({.peer = "unix:7", .role = "operator"}, 0).ok());
  v1::ChangeMatchingRequest matching;
  matching.set_dry_run(true);
  EXPECT_TRUE(Call("/wq.v1.Admin/ChangeMatching", {.peer = "unix:7"}, matching).ok());
  EXPECT_TRUE(Call("/wq.v1.Admin/GetStore", {.peer = "unix:7"}, v1::GetStoreRequest()).ok());
  EXPECT_TRUE(Call("/wq.v1.Admin/Flush", {.peer = "unix:7"}, v1::FlushRequest()).ok());
  EXPECT_THAT(lines_, IsEmpty());
  matching.set_dry_run(false);
  matching.mutable_filter()->set_prefix("a\xff");
  EXPECT_TRUE(Call("/wq.v1.Admin/ChangeMatching", {.peer = "unix:7"}, matching).ok());
  EXPECT_THAT(lines_, ElementsAre("Admin.ChangeMatching of unix:7 (): filter { prefix: "
                                  R"("a\377" }: Ok)"));
}

}  // namespace
}  // namespace wq

// A served queue, and clients of the services Browse and Admin over gRPC.
#pragma once

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/server_fixture.h"
#include "wq/v1/admin.grpc.pb.h"
#include "wq/v1/browse.grpc.pb.h"

namespace wq {

class BrowseFixture : public testing::Test, protected ServerFixture {
 protected:
  BrowseFixture() { Connect(); }
  void Connect(const ServerOptions& options = {.control_socket = true,
                                               .http_address = "127.0.0.1:0"}) {
    Serve(options);
    const auto channel = grpc::CreateInsecureChannelFromFd("localhost", ConnectUnix().Release());
    browse_ = v1::Browse::NewStub(channel);
    admin_ = v1::Admin::NewStub(channel);
  }

  grpc::Status TrySearch(const v1::SearchRequest& request, v1::SearchResponse* response) const {
    grpc::ClientContext context;
    return browse_->Search(&context, request, response);
  }
  v1::SearchResponse Search(v1::SearchRequest request) const {
    request.set_queue("pods");
    v1::SearchResponse response;
    const grpc::Status s = TrySearch(request, &response);
    EXPECT_TRUE(s.ok()) << s.error_message();
    return response;
  }
  // The keys that match, sorted by key.
  std::vector<std::string> Matching(const v1::KeyFilter& filter) const {
    v1::SearchRequest request;
    *request.mutable_filter() = filter;
    std::vector<std::string> keys;
    const v1::SearchResponse response = Search(request);
    for (const v1::KeyRow& row : response.keys()) {
      keys.push_back(row.key());
    }
    EXPECT_EQ(response.matched(), keys.size());
    return keys;
  }
  grpc::Status TryGetKey(const std::string& key, v1::GetKeyResponse* response,
                         const std::string& queue = "pods") const {
    grpc::ClientContext context;
    v1::GetKeyRequest request;
    request.set_queue(queue);
    request.set_key(key);
    return browse_->GetKey(&context, request, response);
  }
  v1::GetKeyResponse GetKey(const std::string& key, const std::string& queue = "pods") const {
    v1::GetKeyResponse response;
    const grpc::Status s = TryGetKey(key, &response, queue);
    EXPECT_TRUE(s.ok()) << s.error_message();
    return response;
  }
  grpc::Status TryChange(const v1::ChangeMatchingRequest& request,
                         v1::ChangeMatchingResponse* response) const {
    grpc::ClientContext context;
    return admin_->ChangeMatching(&context, request, response);
  }
  v1::ChangeMatchingResponse Change(v1::ChangeMatchingRequest request) const {
    request.set_queue("pods");
    v1::ChangeMatchingResponse response;
    const grpc::Status s = TryChange(request, &response);
    EXPECT_TRUE(s.ok()) << s.error_message();
    return response;
  }

  void Add(const std::string& key, const AddOptions& options = {}) const {
    const Status s = pods_->Add(key, options);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void Fail(const std::string& key, const std::string& error) const {
    ASSERT_TRUE(pods_->AddRateLimited(key, error).ok());
  }

  std::unique_ptr<v1::Browse::Stub> browse_;
  std::unique_ptr<v1::Admin::Stub> admin_;
};

}  // namespace wq

// Health and reflection, called as any client calls them.
#include <google/protobuf/descriptor.pb.h>
#include <grpc/health/v1/health.grpc.pb.h>
#include <grpc/reflection/v1alpha/reflection.grpc.pb.h>

#include <atomic>
#include <string>
#include <vector>

#include "server/rpc/health.h"
#include "server/rpc/reflection.h"
#include "tests/server/rpc/rpc_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1alpha::ServerReflection;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

HealthCheckRequest Of(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

TEST(RpcHealth, CheckReportsEachService) {
  RpcFixture f;
  std::atomic<bool> serving = true;
  AddHealth([&] { return serving.load(); }, &f.methods);
  f.Open();
  const auto stub = Health::NewStub(f.Connect());
  const auto check = [&](const std::string& service, HealthCheckResponse* response) {
    grpc::ClientContext context;
    return stub->Check(&context, Of(service), response);
  };
  for (const bool now : {true, false}) {
    serving = now;
    for (const std::string service : {"", "wq.v1.Queue", "grpc.health.v1.Health"}) {
      HealthCheckResponse response;
      EXPECT_TRUE(check(service, &response).ok());
      EXPECT_EQ(response.status(),
                now ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
    }
    for (const std::string service : {"wq.v1", "wq.v1.Queu", "wq.v1.Admin"}) {
      HealthCheckResponse response;
      EXPECT_EQ(check(service, &response).error_code(), grpc::StatusCode::NOT_FOUND) << service;
    }
  }
}

TEST(RpcHealth, WatchSendsEachChange) {
  RpcFixture f;
  std::atomic<bool> serving = true;
  AddHealth([&] { return serving.load(); }, &f.methods);
  f.Open();
  const auto stub = Health::NewStub(f.Connect());
  HealthCheckResponse response;
  {
    grpc::ClientContext context;
    const auto watch = stub->Watch(&context, Of("wq.v1.Queue"));
    for (const bool now : {true, false, true}) {
      serving = now;
      ASSERT_TRUE(watch->Read(&response));
      EXPECT_EQ(response.status(),
                now ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
    }
    context.TryCancel();
    EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  const auto unknown = stub->Watch(&context, Of("nonsense"));
  ASSERT_TRUE(unknown->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  f.server->Close(support::kPatience);
  EXPECT_EQ(unknown->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

class RpcReflection : public testing::Test {
 protected:
  RpcReflection() {
    AddReflection(&f_.methods);
    f_.Open();
    stub_ = ServerReflection::NewStub(f_.Connect());
    client_ = stub_->ServerReflectionInfo(&context_);
  }
  ~RpcReflection() override {
    context_.TryCancel();
    client_->Finish();
  }
  ServerReflectionResponse Ask(const ServerReflectionRequest& request) {
    ServerReflectionResponse response;
    EXPECT_TRUE(client_->Write(request));
    EXPECT_TRUE(client_->Read(&response));
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  }
  static std::vector<std::string> Files(const ServerReflectionResponse& response) {
    std::vector<std::string> names;
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      names.push_back(file.name());
    }
    return names;
  }

  RpcFixture f_;
  grpc::ClientContext context_;
  std::unique_ptr<ServerReflection::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<ServerReflectionRequest, ServerReflectionResponse>>
      client_;
};

TEST_F(RpcReflection, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_list_services("");
  const ServerReflectionResponse response = Ask(request);
  ASSERT_EQ(response.list_services_response().service_size(), 3);
  EXPECT_EQ(response.list_services_response().service(0).name(),
            "grpc.reflection.v1alpha.ServerReflection");
  EXPECT_EQ(response.list_services_response().service(1).name(), "wq.v1.Queue");
  EXPECT_EQ(response.list_services_response().service(2).name(), "wq.v1.Work");
}

TEST_F(RpcReflection, SendsFilesWithTheirImports) {
  const std::vector<std::string> queue = {"wq/v1/queue.proto", "wq/v1/types.proto"};
  ServerReflectionRequest request;
  request.set_file_by_filename("wq/v1/queue.proto");
  EXPECT_EQ(Files(Ask(request)), queue);
  for (const std::string symbol : {"wq.v1.Queue", "wq.v1.Queue.Add", "wq.v1.AddRequest"}) {
    request.set_file_containing_symbol(symbol);
    EXPECT_EQ(Files(Ask(request)), queue) << symbol;
  }
  request.set_file_containing_symbol("wq.v1.Error");
  EXPECT_EQ(Files(Ask(request)), std::vector<std::string>{"wq/v1/types.proto"});
}

TEST_F(RpcReflection, WhatIsNotServedIsNotFound) {
  ServerReflectionRequest request;
  const auto code = [&] { return Ask(request).error_response().error_code(); };
  request.set_file_by_filename("nonsense.proto");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.set_file_by_filename("wq/v1/admin.proto");  // Of a service that the table does not have.
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.set_file_containing_symbol("wq.v1.Nonsense");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.mutable_file_containing_extension()->set_containing_type("wq.v1.AddRequest");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  request.set_all_extension_numbers_of_type("wq.v1.AddRequest");
  EXPECT_EQ(code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Ask(ServerReflectionRequest()).error_response().error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(client_->WritesDone());
  ServerReflectionResponse response;
  EXPECT_FALSE(client_->Read(&response));
}

}  // namespace
}  // namespace wq

// Health and reflection, called as any client calls them.
#include <google/protobuf/descriptor.pb.h>
#include <grpc/health/v1/health.pb.h>
#include <grpc/reflection/v1alpha/reflection.pb.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <string>
#include <vector>

#include "server/rpc/health.h"
#include "server/rpc/reflection.h"
#include "tests/server/rpc/rpc_fixture.h"
#include "tests/support/wait.h"

namespace wq {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

// A stream without generated code for its service.
template <typename Request, typename Response>
class GenericStream {
 public:
  GenericStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& path)
      : stub_(channel), stream_(stub_.PrepareCall(&context_, path, &queue_)) {
    stream_->StartCall(nullptr);
    EXPECT_TRUE(Next());
  }
  ~GenericStream() {
    context_.TryCancel();
    queue_.Shutdown();
    while (Next()) {
    }
  }
  bool Write(const Request& request) {
    const grpc::Slice slice(request.SerializeAsString());
    stream_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    return Next();
  }
  bool WritesDone() {
    stream_->WritesDone(nullptr);
    return Next();
  }
  bool Read(Response* response) {
    grpc::ByteBuffer bytes;
    stream_->Read(&bytes, nullptr);
    if (!Next()) {
      return false;
    }
    grpc::Slice slice;
    EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
    return response->ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::Status Finish() {
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    EXPECT_TRUE(Next());
    return status;
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

using HealthStream = GenericStream<HealthCheckRequest, HealthCheckResponse>;
using ReflectionClient = GenericStream<ServerReflectionRequest, ServerReflectionResponse>;

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
  const auto channel = f.Connect();
  const auto check = [&](const std::string& service, HealthCheckResponse* response) {
    HealthStream call(channel, "/grpc.health.v1.Health/Check");
    EXPECT_TRUE(call.Write(Of(service)));
    EXPECT_TRUE(call.WritesDone());
    call.Read(response);
    return call.Finish();
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
  const auto channel = f.Connect();
  {
    HealthStream watch(channel, "/grpc.health.v1.Health/Watch");
    EXPECT_TRUE(watch.Write(Of("wq.v1.Queue")));
    EXPECT_TRUE(watch.WritesDone());
    HealthCheckResponse response;
    for (const bool now : {true, false, true}) {
      serving = now;
      ASSERT_TRUE(watch.Read(&response));
      EXPECT_EQ(response.status(),
                now ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
    }
  }
  HealthStream unknown(channel, "/grpc.health.v1.Health/Watch");
  EXPECT_TRUE(unknown.Write(Of("nonsense")));
  EXPECT_TRUE(unknown.WritesDone());
  HealthCheckResponse response;
  ASSERT_TRUE(unknown.Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  f.server->Close(support::kPatience);
  EXPECT_EQ(unknown.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(RpcHealth, AWatchWithoutARequestIsRefused) {
  RpcFixture f;
  AddHealth([] { return true; }, &f.methods);
  f.Open();
  HealthStream watch(f.Connect(), "/grpc.health.v1.Health/Watch");
  EXPECT_TRUE(watch.WritesDone());
  HealthCheckResponse response;
  EXPECT_FALSE(watch.Read(&response));
  EXPECT_EQ(watch.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

class RpcReflection : public testing::Test {
 protected:
  RpcReflection() {
    AddReflection(&f_.methods);
    f_.Open();
    client_ = std::make_unique<ReflectionClient>(
        f_.Connect(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
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
  std::unique_ptr<ReflectionClient> client_;
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
  EXPECT_TRUE(client_->Finish().ok());
}

}  // namespace
}  // namespace wq

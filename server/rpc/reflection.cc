#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpc/reflection/v1alpha/reflection.pb.h>
#include <grpcpp/support/status.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace wq {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

constexpr size_t kMaxUnsentAnswers = 16;

std::set<std::string> Services(const MethodTable& table) {
  std::set<std::string> services;
  for (const auto& [path, method] : table.all()) {
    services.insert(path.substr(1, path.rfind('/') - 1));
  }
  return services;
}

// Adds `file`, and then what it imports.
void AddWithImports(const FileDescriptor* file, std::set<const FileDescriptor*>* seen,
                    std::vector<const FileDescriptor*>* files) {
  if (!seen->insert(file).second) {
    return;
  }
  files->push_back(file);
  for (int i = 0; i < file->dependency_count(); ++i) {
    AddWithImports(file->dependency(i), seen, files);
  }
}

std::vector<const FileDescriptor*> WithImports(const FileDescriptor* file) {
  std::set<const FileDescriptor*> seen;
  std::vector<const FileDescriptor*> files;
  AddWithImports(file, &seen, &files);
  return files;
}

// Whether one of the services needs this file. The program's other files are not shown.
bool IsShown(const FileDescriptor* file, const MethodTable& table) {
  std::set<const FileDescriptor*> seen;
  std::vector<const FileDescriptor*> files;
  for (const std::string& service : Services(table)) {
    const auto* descriptor = DescriptorPool::generated_pool()->FindServiceByName(service);
    AddWithImports(descriptor->file(), &seen, &files);
  }
  return seen.contains(file);
}

void SetError(grpc::StatusCode code, const std::string& message,
              ServerReflectionResponse* response) {
  response->mutable_error_response()->set_error_code(code);
  response->mutable_error_response()->set_error_message(message);
}

void SetFile(const FileDescriptor* file, const std::string& name, const MethodTable& table,
             ServerReflectionResponse* response) {
  if (file == nullptr || !IsShown(file, table)) {
    SetError(grpc::StatusCode::NOT_FOUND, "there is no " + name, response);
    return;
  }
  for (const FileDescriptor* each : WithImports(file)) {
    google::protobuf::FileDescriptorProto proto;
    each->CopyTo(&proto);
    response->mutable_file_descriptor_response()->add_file_descriptor_proto(
        proto.SerializeAsString());
  }
}

void Answer(const ServerReflectionRequest& request, const MethodTable& table,
            ServerReflectionResponse* response) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  response->set_valid_host(request.host());
  *response->mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      for (const std::string& service : Services(table)) {
        response->mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    case ServerReflectionRequest::kFileByFilename:
      SetFile(pool->FindFileByName(request.file_by_filename()),
              "file " + request.file_by_filename(), table, response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(pool->FindFileContainingSymbol(request.file_containing_symbol()),
              "symbol " + request.file_containing_symbol(), table, response);
      break;
    case ServerReflectionRequest::kFileContainingExtension:
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      SetError(grpc::StatusCode::NOT_FOUND, "the services have no extensions", response);
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", response);
      break;
  }
}

class ReflectionStream : public Stream {
 public:
  ReflectionStream(const MethodTable& table, StreamCarrier* carrier)
      : table_(table), carrier_(carrier) {}

  Status Receive(const Message& request) override {
    ServerReflectionResponse response;
    Answer(static_cast<const ServerReflectionRequest&>(request), table_, &response);
    {
      const MutexLock lock(mu_);
      answers_.push_back(std::move(response));
    }
    carrier_->Wake();
    return Status::Ok();
  }
  void ReceivedAll() override {
    {
      const MutexLock lock(mu_);
      received_all_ = true;
    }
    carrier_->Wake();
  }
  bool WantsMore() const override {
    const MutexLock lock(mu_);
    return answers_.size() < kMaxUnsentAnswers;
  }
  Next Take(Message* response, Status* /*end*/) override {
    const MutexLock lock(mu_);
    if (answers_.empty()) {
      return received_all_ ? Next::kEnd : Next::kNothing;
    }
    static_cast<ServerReflectionResponse*>(response)->Swap(&answers_.front());
    answers_.pop_front();
    return Next::kMessage;
  }
  void Close() override {}

 private:
  const MethodTable& table_;
  StreamCarrier* const carrier_;
  mutable Mutex mu_;
  std::deque<ServerReflectionResponse> answers_ WQ_GUARDED_BY(mu_);
  bool received_all_ WQ_GUARDED_BY(mu_) = false;
};

}  // namespace

void AddReflection(MethodTable* table) {
  Method info = MakeMethod("grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo",
                           ServerReflectionRequest::default_instance(),
                           ServerReflectionResponse::default_instance());
  info.changes = false;
  info.open = [table](const Caller&, StreamCarrier* carrier) {
    return std::make_unique<ReflectionStream>(*table, carrier);
  };
  table->Add(std::move(info));
}

}  // namespace wq

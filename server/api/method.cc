#include "server/api/method.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <utility>

#include "base/check.h"

namespace wq {

Method MakeMethod(std::string_view service, std::string_view name, const Message& request,
                  const Message& response) {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  const auto* rpc = pool->FindMethodByName(std::string(service) + "." + std::string(name));
  WQ_CHECK(rpc != nullptr, "no generated service has this rpc");
  WQ_CHECK(rpc->input_type() == request.GetDescriptor(), "the rpc has another request");
  WQ_CHECK(rpc->output_type() == response.GetDescriptor(), "the rpc has another response");
  Method method;
  method.path = "/" + std::string(service) + "/" + std::string(name);
  method.request = &request;
  method.response = &response;
  method.client_streams = rpc->client_streaming();
  method.server_streams = rpc->server_streaming();
  method.changes =
      rpc->options().idempotency_level() != google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
  return method;
}

void MethodTable::Add(Method method) {
  const bool streams = method.client_streams || method.server_streams;
  WQ_CHECK(streams ? method.open != nullptr : method.call != nullptr, "the method does nothing");
  std::string path = method.path;
  const bool is_new = methods_.emplace(std::move(path), std::move(method)).second;
  WQ_CHECK(is_new, "the method was added before");
}

void MethodTable::ForEach(const std::function<void(Method*)>& change) {
  for (auto& [_, method] : methods_) {
    change(&method);
  }
}

const Method* MethodTable::Find(std::string_view path) const {
  const auto it = methods_.find(path);
  return it == methods_.end() ? nullptr : &it->second;
}

Status ClientIsGone() { return Status::ShuttingDown("the client has gone"); }

Status ServerCloses() { return Status::ShuttingDown("the server is closing"); }

}  // namespace wq

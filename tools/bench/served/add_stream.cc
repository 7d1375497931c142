#include <grpcpp/create_channel.h>

#include <algorithm>

#include "tools/bench/served/served_store.h"
#include "tools/bench/subjects.h"
#include "wq/v1/queue.grpc.pb.h"

namespace wq::bench {
namespace {

using AddCalls = grpc::ClientReaderWriter<v1::AddRequest, v1::AddResponse>;

// Sends one request with up to `batch_size` keys from *at on. `more`: the connection may wait for
// the next request.
void SendAdd(AddCalls* calls, const Keys& keys, size_t batch_size, bool more,
             v1::AddRequest* request, size_t* at) {
  request->clear_keys();
  for (const size_t end = std::min(*at + batch_size, keys.size()); *at < end; ++*at) {
    request->add_keys()->assign(keys[*at]);
  }
  grpc::WriteOptions options;
  if (more) {
    options.set_buffer_hint();
  }
  Require(calls->Write(*request, options), "the server has ended AddStream");
}

}  // namespace

void AddByStream(const ServedStore& served, const Keys& keys, Durability durability,
                 size_t batch_size, size_t in_flight) {
  const auto stub = v1::Queue::NewStub(grpc::CreateChannel("unix:" + served.dir() + "/control.sock",
                                                           grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto calls = stub->AddStream(&context);
  v1::AddRequest request;
  request.set_queue(std::string(kQueueName));
  request.set_durability(durability == Durability::kPower ? v1::DURABILITY_POWER
                                                          : v1::DURABILITY_PROCESS);
  v1::AddResponse response;
  size_t added = 0;
  for (size_t at = 0; at < keys.size();) {
    size_t sent = 0;
    while (sent < in_flight && at < keys.size()) {
      ++sent;
      SendAdd(calls.get(), keys, batch_size, sent < in_flight && at + batch_size < keys.size(),
              &request, &at);
    }
    for (; sent > 0; --sent) {
      Require(calls->Read(&response), "the server has ended AddStream");
      Require(!response.has_error(), "AddStream: " + response.error().message());
      added += response.added();
    }
  }
  calls->WritesDone();
  Require(!calls->Read(&response), "an answer too many");
  Require(calls->Finish().ok(), "the end of AddStream");
  RequireEqual(added, keys.size(), "keys added by AddStream");
}

}  // namespace wq::bench

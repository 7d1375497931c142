// A server that gets no threads.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "tests/server/rpc/rpc_fixture.h"

namespace {

// How many more threads this process gets.
std::atomic<int64_t> rpc_threads_left{INT64_MAX};

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return rpc_threads_left.fetch_sub(1) <= 0 ? EAGAIN : real(thread, attributes, body, argument);
}

namespace wq {
namespace {

TEST(RpcThreads, AServerWithoutThreadsIsAnErrorAndTheNextOneServes) {
  RpcFixture f;
  f.Open();  // gRPC has its own threads from now on.
  for (int64_t threads = 0; threads < 3; ++threads) {
    std::unique_ptr<RpcServer> server;
    rpc_threads_left = threads;
    const Status s = RpcServer::Open({.methods = &f.methods, .threads = 3}, &server);
    rpc_threads_left = INT64_MAX;
    EXPECT_EQ(s.code(), StatusCode::kIOError) << s.ToString();
    EXPECT_EQ(server, nullptr);
  }
  f.Open();
  grpc::ClientContext context;
  v1::AddResponse response;
  EXPECT_TRUE(f.Stub()->Add(&context, v1::AddRequest(), &response).ok());
}

}  // namespace
}  // namespace wq

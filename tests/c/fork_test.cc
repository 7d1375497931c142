// A forked child of a process that uses the library: every call fails, and the parent is
// unaffected.

#include <sys/wait.h>
#include <unistd.h>

#include "tests/c/c_fixture.h"

namespace wq::c {
namespace {

using ForkTest = CTest;

// Only plain calls: other threads of the parent may have held any lock at the fork.
int InTheChild(wq_store store, wq_queue queue) {
  wq_bytes bytes = WQ_NO_BYTES;
  wq_store other = WQ_NO_STORE;
  wq_error error;
  const wq_code codes[] = {wq_queue_add(queue, "k", 1, nullptr, nullptr, &error),
                           wq_queue_get(queue, WQ_FOREVER, &bytes, &error),
                           wq_queue_stop(queue, &error),
                           wq_queue_close(queue, &error),
                           wq_store_flush(store, 0, &error),
                           wq_store_close(store, &error),
                           wq_store_free(store, &error),
                           wq_store_open_in_memory(nullptr, &other, &error)};
  int refused = 0;
  for (const wq_code code : codes) {
    refused += code == WQ_FORKED && error.code == WQ_FORKED ? 1 : 0;
  }
  return refused;
}

TEST_F(ForkTest, EveryCallFailsInTheChild) {
  OpenQueue();
  ASSERT_EQ(Add("before"), WQ_OK);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::_exit(InTheChild(store_, queue_));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 8);
  EXPECT_EQ(Add("after"), WQ_OK);
  EXPECT_EQ(Get(), "before");
}

}  // namespace
}  // namespace wq::c

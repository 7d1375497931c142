// A process that was forked from a queue's: its calls are refused before they take a lock, since
// the lock may have been copied while a thread of the parent held it.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/environment.h"
#include "wq/limiter.h"
#include "wq/source.h"
#include "wq/store_view.h"

namespace wq {
namespace {

class ForgottenKeys final : public Limiter {
 public:
  std::chrono::microseconds When(std::string_view, uint64_t, Time) override { return {}; }
  void Forget(std::string_view) override { ++count; }
  int count = 0;
};

TEST_F(QueueTest, EveryCallWithAStatusIsRefusedInAForkedProcess) {
  const auto limiter = std::make_shared<ForgottenKeys>();
  CloseAndOpen({.limiter = limiter});
  Source source;
  std::unique_ptr<SourceList> list;
  ASSERT_TRUE(queue_->OpenSource("s", &source).ok());
  ASSERT_TRUE(source.Observe({.object = "o"}).ok());
  ASSERT_TRUE(source.BeginList({}, &list).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string text;
    size_t position = 0;
    SeenObject deleted;
    const std::vector<Status> statuses = {
        queue_->Add("a"),
        queue_->AddAfter("a", std::chrono::seconds(1)),
        queue_->AddRateLimited("a"),
        queue_->AddBatch(std::vector<std::string_view>{"a"}),
        queue_->GetFor(std::chrono::seconds(0), &text),
        queue_->Done("a"),
        queue_->Remove("a"),
        queue_->CancelDelay("a"),
        queue_->EndDelay("a"),
        queue_->Forget("a"),
        queue_->Quarantine("a"),
        queue_->Release("a"),
        queue_->Drop("a"),
        queue_->Delete("a"),
        queue_->SetCursor("c", "v"),
        queue_->GetCursor("c", &text),
        queue_->EraseCursor("c"),
        queue_->Pause(),
        queue_->Resume(),
        queue_->PositionOf("a", &position),
        queue_->ShutDownWithDrain(std::chrono::seconds(0)),
        queue_->Flush(),
        queue_->OpenSource("s", &source),
        queue_->RemoveSource("s"),
        source.Observe({.object = "o"}),
        source.ObserveDeleted("o"),
        list->Observe({.object = "o"}),
        list->NextDeleted(&deleted),
        list->ObserveDeleted("o"),
        list->End(),
        source.BeginList({}, &list),
    };
    int exit_code = limiter->count == 0 ? 0 : 255;
    for (size_t i = 0; i < statuses.size(); ++i) {
      if (statuses[i].code() != StatusCode::kLocked) {
        exit_code = static_cast<int>(i) + 1;
      }
    }
    _exit(exit_code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0)
      << "the place in the list of the last call that was not refused";
}

// A view has RocksDB's threads as well. In a process of its own, which has opened no store.
TEST(ForkTest, NoStoreIsOpenedInAChildOfAProcessThatHasReadOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const kDir = "WQ_FORK_TEST_STORE";
  std::unique_ptr<support::ScratchDirectory> dir;
  if (getenv(kDir) == nullptr) {
    dir = std::make_unique<support::ScratchDirectory>();
    ASSERT_EQ(setenv(kDir, dir->path().c_str(), 1), 0);
    std::unique_ptr<Store> store;
    ASSERT_TRUE(Store::Open({.create_if_missing = true}, getenv(kDir), &store).ok());
  }
  EXPECT_EXIT(
      {
        std::unique_ptr<StoreView> view;
        const bool read = StoreView::Open(getenv(kDir), &view).ok();
        const pid_t child = fork();
        if (child == 0) {
          std::unique_ptr<Store> store;
          _exit(read && Store::Open({}, getenv(kDir), &store).code() == StatusCode::kLocked ? 0
                                                                                            : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
      },
      testing::ExitedWithCode(0), "");
  if (dir != nullptr) {
    unsetenv(kDir);
  }
}

}  // namespace
}  // namespace wq

// Each metric of docs/metrics.md changes as that page says.

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/queue/metrics_fixture.h"
#include "tests/engine/queue/queue_fixture.h"
#include "tests/support/wait.h"
#include "wq/internal/queue_calls.h"

namespace wq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kAdds = "workqueue_adds_total{controller=q,name=q}";
constexpr const char* kRetries = "workqueue_retries_total{controller=q,name=q}";
constexpr const char* kQueued = "workqueue_queue_duration_seconds{controller=q,name=q}";
constexpr const char* kWorked = "workqueue_work_duration_seconds{controller=q,name=q}";
constexpr const char* kUnfinished = "workqueue_unfinished_work_seconds{controller=q,name=q}";
constexpr const char* kLongest = "workqueue_longest_running_processor_seconds{controller=q,name=q}";

std::string Depth(const std::string& priority) {
  return "workqueue_depth{controller=q,name=q,priority=" + priority + "}";
}

// A QueueTest whose store has metrics.
class MetricsTest : public QueueTest {
 protected:
  MetricsTest() { OpenMeasured({.order = Order::kTwoLanes}); }
  // Closing the store reports metrics, so the provider must still exist.
  ~MetricsTest() override { store_.reset(); }

  void OpenMeasured(const QueueOptions& options) {
    queue_options_ = options;
    Open({.metrics = provider_});
  }
  void AddTo(std::string_view key, Lane lane) {
    ASSERT_TRUE(queue_->Add(key, {.lane = lane}).ok());
  }
  void Done(std::string_view key) { ASSERT_TRUE(queue_->Done(key).ok()); }
  double Gauge(const std::string& series) { return provider_->Scrape().at(series); }

  std::shared_ptr<FakeProvider> provider_ = std::make_shared<FakeProvider>();
};

TEST_F(MetricsTest, AddsCountsKeysThatBecomeDirty) {
  Add("a");
  Add("a");  // Deduplicated.
  EXPECT_EQ(provider_->Count(kAdds), 1U);
  EXPECT_EQ(Get(), "a");
  Add("a");  // Dirty while it is processing.
  Add("a");
  EXPECT_EQ(provider_->Count(kAdds), 2U);
  Done("a");
  EXPECT_EQ(provider_->Count(kAdds), 2U);
  const std::vector<std::string_view> keys = {"a", "b", "c", "b"};
  ASSERT_TRUE(queue_->AddBatch(keys).ok());
  EXPECT_EQ(provider_->Count(kAdds), 4U);
}

TEST_F(MetricsTest, AKeyThatIsGivenBackIsNoFinishedWorkAndNoAdd) {
  Add("a");
  std::vector<HeldKey> keys;
  clock_.Advance(seconds(2));
  ASSERT_TRUE(queue_->TryGet(5, &keys).ok());
  EXPECT_THAT(provider_->Observed(kQueued), ElementsAre(DoubleEq(2)));
  clock_.Advance(seconds(3));
  EXPECT_EQ(Gauge(kUnfinished), 3);
  EXPECT_EQ(Gauge(Depth("0")), 0);
  ASSERT_TRUE(queue_->PutBack("a").ok());
  EXPECT_EQ(Gauge(kUnfinished), 0);
  EXPECT_EQ(Gauge(kLongest), 0);
  EXPECT_EQ(Gauge(Depth("0")), 1);
  EXPECT_THAT(provider_->Observed(kWorked), IsEmpty());
  EXPECT_EQ(provider_->Count(kAdds), 1U);
  EXPECT_EQ(provider_->Count(kRetries), 0U);
  EXPECT_EQ(Get(), "a");  // Queued since its Add: 2 s before the first hand-out, 5 s in all.
  EXPECT_THAT(provider_->Observed(kQueued), ElementsAre(DoubleEq(2), DoubleEq(5)));
  clock_.Advance(seconds(1));
  Done("a");
  EXPECT_THAT(provider_->Observed(kWorked), ElementsAre(DoubleEq(1)));
}

TEST_F(MetricsTest, AddsCountsDelaysThatFireAndKeysThatAreReleased) {
  ASSERT_TRUE(queue_->AddAfter("a", seconds(1)).ok());
  ASSERT_TRUE(queue_->AddRateLimited("b", "why").ok());
  ASSERT_TRUE(queue_->Quarantine("c").ok());
  EXPECT_EQ(provider_->Count(kAdds), 0U);
  clock_.Advance(seconds(1));
  EXPECT_EQ(queue_->Len(), 2U);
  ASSERT_TRUE(queue_->Release("c").ok());
  store_.reset();  // The call that fired it has counted it when this returns.
  EXPECT_EQ(provider_->Count(kAdds), 3U);
}

TEST_F(MetricsTest, RetriesCountsDelayedAndRateLimitedAdds) {
  Add("a");
  ASSERT_TRUE(queue_->AddAfter("a", seconds(1)).ok());
  ASSERT_TRUE(queue_->AddAfter("a", seconds(0)).ok());
  ASSERT_TRUE(queue_->AddRateLimited("a").ok());
  EXPECT_EQ(provider_->Count(kRetries), 3U);
  EXPECT_FALSE(queue_->AddAfter("", seconds(1)).ok());
  queue_->ShutDown();
  EXPECT_FALSE(queue_->AddAfter("a", seconds(1)).ok());
  EXPECT_FALSE(queue_->AddAfter("a", seconds(0)).ok());
  EXPECT_FALSE(queue_->AddRateLimited("a").ok());
  EXPECT_EQ(provider_->Count(kRetries), 3U);
}

TEST_F(MetricsTest, QueueDurationIsFromAddToGet) {
  Add("a");
  clock_.Advance(milliseconds(1500));
  Add("a");  // Deduplicated: it waits since its first Add.
  EXPECT_EQ(Get(), "a");
  clock_.Advance(seconds(1));
  Add("a");  // Waits from here on, though Done queues it later.
  clock_.Advance(seconds(2));
  Done("a");
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Get(), "TimedOut");
  EXPECT_THAT(provider_->Observed(kQueued), ElementsAre(DoubleEq(1.5), DoubleEq(2)));
}

TEST_F(MetricsTest, QueueDurationIncludesTheTimeBetweenTwoLives) {
  Add("a");
  ASSERT_TRUE(store_->Close().ok());
  clock_.Advance(seconds(60));
  OpenMeasured({});
  EXPECT_EQ(Gauge("wq_oldest_pending_age_seconds{name=q}"), 60);
  EXPECT_EQ(Get(), "a");
  EXPECT_THAT(provider_->Observed(kQueued), ElementsAre(DoubleEq(60)));
}

TEST_F(MetricsTest, DurationsAreNotNegativeWhenTheClockIsSetBack) {
  Add("a");
  clock_.SetWall(clock_.WallUs() - 3'600'000'000);
  EXPECT_EQ(Gauge("wq_oldest_pending_age_seconds{name=q}"), 0);
  EXPECT_EQ(Get(), "a");
  clock_.SetWall(clock_.WallUs() - 3'600'000'000);
  clock_.Advance(seconds(1));
  Done("a");
  EXPECT_THAT(provider_->Observed(kQueued), ElementsAre(0));
  EXPECT_THAT(provider_->Observed(kWorked), ElementsAre(DoubleEq(1)));
}

TEST_F(MetricsTest, WorkDurationIsFromGetToDone) {
  Add("a");
  Add("b");
  EXPECT_EQ(Get(), "a");
  clock_.Advance(seconds(1));
  EXPECT_EQ(Get(), "b");
  clock_.Advance(seconds(2));
  EXPECT_EQ(Gauge(kUnfinished), 5);
  EXPECT_EQ(Gauge(kLongest), 3);
  EXPECT_EQ(Gauge("wq_processing{name=q}"), 2);
  Done("a");
  EXPECT_EQ(Gauge(kUnfinished), 2);
  EXPECT_EQ(Gauge(kLongest), 2);
  EXPECT_FALSE(queue_->Done("a").ok());  // No worker holds it.
  Done("b");
  EXPECT_EQ(Gauge(kUnfinished), 0);
  EXPECT_EQ(Gauge(kLongest), 0);
  EXPECT_THAT(provider_->Observed(kWorked), ElementsAre(DoubleEq(3), DoubleEq(2)));
}

TEST_F(MetricsTest, DepthCountsReadyKeysByLane) {
  EXPECT_EQ(Gauge(Depth("0")), 0);
  EXPECT_EQ(Gauge(Depth("-100")), 0);
  Add("a");
  AddTo("b", kSlowLane);
  AddTo("c", kSlowLane);
  EXPECT_EQ(Gauge(Depth("0")), 1);
  EXPECT_EQ(Gauge(Depth("-100")), 2);
  EXPECT_EQ(Get(), "a");
  Add("a");  // Dirty, but not queued.
  EXPECT_EQ(Gauge(Depth("0")), 0);
  ASSERT_TRUE(queue_->Remove("b").ok());
  EXPECT_EQ(Gauge(Depth("-100")), 1);
}

TEST_F(MetricsTest, DepthOfAQueueWithOneLaneHasNoPriority) {
  for (const Order order : {Order::kFifo, Order::kFair}) {
    OpenMeasured({.order = order});
    Add("a");
    EXPECT_EQ(Gauge(Depth("")), 1);
    EXPECT_EQ(provider_->Scrape().count(Depth("0")), 0U);
    EXPECT_EQ(Get(), "a");
    Done("a");
  }
}

// controller-runtime#3396: a label made 810 000 series.
TEST_F(MetricsTest, ThereAreAtMostTwentyFivePriorities) {
  OpenMeasured({.order = Order::kPriorities});
  for (int i = 0; i < 1000; ++i) {
    AddTo("key-" + std::to_string(i), i);
    if (i % 100 == 0) {
      provider_->Scrape();
    }
  }
  size_t series = 0;
  double sum = 0;
  for (const auto& [name, value] : provider_->Scrape()) {
    if (name.starts_with("workqueue_depth")) {
      ++series;
      sum += value;
      EXPECT_GE(value, 0);
    }
  }
  EXPECT_EQ(series, 25U);
  EXPECT_EQ(sum, 1000);
  EXPECT_GT(Gauge(Depth("exceeded_cardinality_limit")), 0);
}

TEST_F(MetricsTest, MoreKeysAreNotMoreSeries) {
  const size_t before = provider_->Size();
  for (int i = 0; i < 2000; ++i) {
    const std::string key = "key-" + std::to_string(i);
    AddTo(key, i % 2 == 0 ? kFastLane : kSlowLane);
    ASSERT_TRUE(queue_->AddAfter(key, seconds(1)).ok());
    ASSERT_TRUE(queue_->AddRateLimited(key, key).ok());
  }
  for (std::string key = Get(); key != "TimedOut"; key = Get()) {
    Done(key);
  }
  EXPECT_EQ(provider_->Size(), before);
}

TEST_F(MetricsTest, GaugesBeyondClientGos) {
  ASSERT_TRUE(queue_->AddAfter("a", seconds(100)).ok());
  ASSERT_TRUE(queue_->AddRateLimited("b", "why").ok());
  ASSERT_TRUE(queue_->Quarantine("c", "why").ok());
  EXPECT_EQ(Gauge("wq_delayed{name=q}"), 2);
  EXPECT_EQ(Gauge("wq_failing{name=q}"), 1);
  EXPECT_EQ(Gauge("wq_quarantined{name=q}"), 1);
  EXPECT_EQ(Gauge("wq_oldest_pending_age_seconds{name=q}"), 0);
  EXPECT_EQ(Gauge("wq_paused{name=q}"), 0);
  ASSERT_TRUE(queue_->Pause(seconds(10)).ok());
  EXPECT_EQ(Gauge("wq_paused{name=q}"), 1);
  clock_.Advance(seconds(10));
  EXPECT_EQ(queue_->Len(), 1U);  // Ends the pause, as the timer does.
  EXPECT_EQ(Gauge("wq_paused{name=q}"), 0);
  OpenMeasured({.limits = {.max_processing = 1}});
  EXPECT_EQ(Get(), "b");
  Add("d");
  EXPECT_EQ(Gauge("wq_held_back{name=q}"), 1);
}

TEST_F(MetricsTest, FullAddsAndStuckKeysAreCountedAndLimiterDelaysObserved) {
  QueueOptions options = queue_options_;
  options.max_pending = 1;
  options.when_full = WhenFull::kRefuse;
  options.stuck_after = std::chrono::seconds(5);
  OpenMeasured(options);
  Add("a");
  EXPECT_EQ(queue_->Add("b").code(), StatusCode::kFull);
  const std::vector<std::string_view> keys = {"c", "d"};
  EXPECT_TRUE(queue_->AddBatch(keys).ok());
  EXPECT_EQ(provider_->Count("wq_full_adds_total{name=q}"), 3u);
  EXPECT_EQ(Get(), "a");
  EXPECT_EQ(Gauge("wq_stuck{name=q}"), 0);
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(queue_->Counts().stuck, 1u);  // Fires what is due, if the timer has not.
  EXPECT_EQ(Gauge("wq_stuck{name=q}"), 1);
  EXPECT_TRUE(queue_->AddRateLimited("a").ok());
  EXPECT_TRUE(queue_->AddRateLimited("a").ok());
  EXPECT_THAT(provider_->Observed("wq_limiter_delay_seconds{name=q}"), ElementsAre(0.005, 0.01));
}

TEST_F(MetricsTest, EveryAddThatAQuarantineHoldsIsCounted) {
  OpenMeasured(queue_options_);
  EXPECT_TRUE(queue_->Quarantine("a", "bad").ok());
  const std::vector<std::string_view> keys = {"a", "b", "a"};
  Add("a");
  EXPECT_TRUE(queue_->AddBatch(keys).ok());
  EXPECT_TRUE(queue_->AddAfter("a", std::chrono::hours(1)).ok());
  AddOptions debounced;
  debounced.debounce = Debounce{.quiet = std::chrono::hours(1), .max_wait = std::chrono::hours(2)};
  EXPECT_TRUE(queue_->Add("a", debounced).ok());
  EXPECT_TRUE(queue_->AddRateLimited("a").ok());
  EXPECT_EQ(provider_->Count("wq_held_adds_total{name=q}"), 6u);
  EXPECT_TRUE(queue_->Release("a").ok());
  Add("a");
  EXPECT_EQ(provider_->Count("wq_held_adds_total{name=q}"), 6u);
}

TEST_F(MetricsTest, ObjectsOfASource) {
  OpenMeasured(queue_options_);
  Source source;
  ASSERT_TRUE(queue_->OpenSource("pods", &source).ok());
  for (const char* version : {"1", "1", "2"}) {
    ASSERT_TRUE(source.Observe({.object = "a", .version = version}).ok());
  }
  const std::string labels = "{name=q,source=pods";
  EXPECT_EQ(Gauge("wq_source_objects" + labels + "}"), 1);
  ASSERT_TRUE(source.ObserveDeleted("a").ok());
  EXPECT_EQ(Gauge("wq_source_objects" + labels + "}"), 0);
  const std::string counter = "wq_source_observations_total" + labels + ",outcome=";
  EXPECT_EQ(Gauge(counter + "unchanged}"), 1);
  EXPECT_EQ(Gauge(counter + "changed}"), 2);
  EXPECT_EQ(Gauge(counter + "deleted}"), 1);
}

TEST_F(MetricsTest, OldestPendingAgeSeesAKeyThatADeathPutBehind) {
  const auto age = [this] { return Gauge("wq_oldest_pending_age_seconds{name=q}"); };
  bool failed = false;
  AddTo("deadly", kFastLane);
  EXPECT_EQ(Get(), "deadly");
  ASSERT_TRUE(PutBackDead(queue_, "deadly", &failed).ok());
  EXPECT_EQ(Get(), "deadly");
  clock_.Advance(seconds(5));
  AddTo("later", kFastLane);
  ASSERT_TRUE(PutBackDead(queue_, "deadly", &failed).ok());
  EXPECT_EQ(age(), 5);
  EXPECT_EQ(Get(), "later");
  EXPECT_EQ(Get(), "deadly");
  EXPECT_EQ(age(), 0);
}

TEST_F(MetricsTest, CommitsAreMeasured) {
  const std::string mutations = "wq_commit_batch_mutations{store=}";
  const size_t before = provider_->Observed(mutations).size();
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  ASSERT_TRUE(queue_->AddBatch(keys).ok());
  const std::vector<double> observed = provider_->Observed(mutations);
  ASSERT_EQ(observed.size(), before + 1);
  EXPECT_GE(observed.back(), 3);
  const size_t commits = provider_->Observed("wq_commit_duration_seconds{store=}").size();
  EXPECT_EQ(commits, before + 1);
  ASSERT_TRUE(queue_->Flush(Durability::kPower).ok());  // Only syncs.
  EXPECT_EQ(provider_->Observed("wq_commit_duration_seconds{store=}").size(), commits + 1);
  EXPECT_EQ(provider_->Observed(mutations).size(), before + 1);
}

TEST_F(MetricsTest, AFailedWriteShows) {
  EXPECT_EQ(Gauge("wq_store_healthy{store=}"), 1);
  FailWrites();
  EXPECT_EQ(queue_->Add("a").code(), StatusCode::kNotDurable);
  EXPECT_EQ(Gauge("wq_store_healthy{store=}"), 0);
  EXPECT_EQ(Gauge(Depth("0")), 1);
  EXPECT_EQ(queue_->AddAfter("a", seconds(0)).code(), StatusCode::kNotDurable);
  EXPECT_EQ(provider_->Count(kAdds), 1U);
  EXPECT_EQ(provider_->Count(kRetries), 1U);
}

TEST_F(MetricsTest, GaugesAreGoneAfterClose) {
  Add("a");
  EXPECT_THAT(provider_->Scrape(), ::testing::Not(IsEmpty()));
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_THAT(provider_->Scrape(), IsEmpty());
  store_.reset();
  EXPECT_THAT(provider_->Scrape(), IsEmpty());
  EXPECT_EQ(provider_->Count(kAdds), 1U);  // What was counted stays.
  OpenMeasured({});
  EXPECT_EQ(Gauge(Depth("")), 1);
  Add("b");
  EXPECT_EQ(provider_->Count(kAdds), 2U);  // Its own keys, found again, are no Adds.
}

TEST_F(MetricsTest, AProviderMayCallTheQueue) {
  std::atomic<int> pushes = 0;
  Queue* queue = queue_;
  provider_->on_push = [&pushes, queue](const std::string& /*series*/) {
    ++pushes;
    queue->Len();
    queue->Counts();
    queue->NumRequeues("a");
    if (queue->Len() == 0) {  // Otherwise the Flush would call this without an end.
      EXPECT_TRUE(queue->Flush().ok());
    }
  };
  Add("a");
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(queue_->AddRateLimited("a", "why").ok());
  Done("a");
  clock_.Advance(seconds(1));
  EXPECT_EQ(Get(), "a");
  EXPECT_TRUE(queue_->Flush().ok());
  EXPECT_GT(pushes, 5);
  ASSERT_TRUE(store_->Close().ok());
  provider_->on_push = nullptr;
}

// A key more for each that it takes.
TEST_F(MetricsTest, ABatchOfKeysEndsBesideAProducer) {
  const auto add = [this](int i) { ASSERT_TRUE(queue_->Add(std::to_string(i)).ok()); };
  constexpr int kQueued = 1000;
  int adds = 0;
  while (adds < kQueued) {
    add(adds++);
  }
  provider_->on_push = [&](const std::string& series) {
    if (series.starts_with("workqueue_queue_duration") && adds < 100 * kQueued) {
      add(adds++);
    }
  };
  std::vector<HeldKey> keys;
  ASSERT_TRUE(queue_->TryGet(SIZE_MAX, &keys).ok());
  provider_->on_push = nullptr;
  EXPECT_EQ(keys.size(), size_t{kQueued});
}

}  // namespace
}  // namespace wq

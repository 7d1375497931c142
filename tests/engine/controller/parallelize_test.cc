// ParallelizeUntil: each piece once, by as many workers as asked for, until it is stopped.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wq/parallelize.h"

namespace wq {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

const std::stop_token kNeverStops;

TEST(ParallelizeUntil, RunsEveryPieceOnce) {
  for (const size_t workers : {1U, 2U, 3U, 16U, 200U}) {
    for (const size_t pieces : {1U, 2U, 99U, 100U}) {
      for (const size_t chunk : {0U, 1U, 2U, 7U, 99U, 1000U}) {
        std::vector<int> runs(pieces);  // Not atomic: TSan reports a piece that two threads run.
        const Status s = ParallelizeUntil(
            kNeverStops, workers, pieces, [&](size_t i) { ++runs[i]; }, chunk);
        ASSERT_TRUE(s.ok()) << s.ToString();
        ASSERT_THAT(runs, Each(1)) << workers << " " << pieces << " " << chunk;
      }
    }
  }
}

TEST(ParallelizeUntil, RefusesNoWorkersAndNoFunction) {
  EXPECT_EQ(ParallelizeUntil(kNeverStops, 0, 3, [](size_t) { FAIL(); }).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ParallelizeUntil(kNeverStops, 1, 3, nullptr).code(), StatusCode::kInvalidArgument);
}

TEST(ParallelizeUntil, RunsAsManyPiecesAtOnceAsThereAreWorkers) {
  constexpr size_t kWorkers = 4;
  std::latch together(kWorkers);  // Opens only when all pieces run at once.
  EXPECT_TRUE(ParallelizeUntil(kNeverStops, kWorkers, kWorkers, [&](size_t) {
                together.arrive_and_wait();
              }).ok());
}

TEST(ParallelizeUntil, AStopIsSeenBeforeEachPieceAlsoWithinAChunk) {
  std::stop_source stop;
  std::vector<size_t> order;
  const Status s = ParallelizeUntil(
      stop.get_token(), 1, 10,
      [&](size_t i) {
        order.push_back(i);
        if (i == 3) {
          stop.request_stop();
        }
      },
      10);
  EXPECT_EQ(s.ToString(), "ShuttingDown: stopped after 4 of 10 pieces");
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(ParallelizeUntil, AnExceptionEndsTheLoopAndIsReported) {
  std::vector<size_t> order;
  const Status s = ParallelizeUntil(kNeverStops, 1, 10, [&](size_t i) {
    order.push_back(i);
    if (i == 2) {
      throw std::runtime_error("no node");
    }
  });
  EXPECT_EQ(s.ToString(), "InvalidArgument: piece 2: no node");
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(ParallelizeUntil, PiecesUnderWayAtAnExceptionRunToTheirEnd) {
  std::latch both(2);
  std::latch thrown(1);
  std::atomic<int> ended = 0;
  const Status s = ParallelizeUntil(kNeverStops, 2, 100, [&](size_t i) {
    ASSERT_LT(i, 2U);  // Chunks are taken in order, and the first two wait for each other.
    both.arrive_and_wait();
    if (i == 0) {
      thrown.count_down();
      throw std::runtime_error("first");
    }
    thrown.wait();
    ++ended;
    throw std::runtime_error("second");
  });
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace wq

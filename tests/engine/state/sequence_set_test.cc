#include "engine/state/sequence_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace wq {
namespace {

TEST(SequenceSet, HoldsEachSequenceOnce) {
  std::mt19937_64 random(5);
  SequenceSet set;
  std::set<uint64_t> expected;
  for (int n = 0; n < 20'000; ++n) {
    // Dense, sparse, and at the end of the range.
    uint64_t sequence = random() % 4096;
    if (n % 3 == 0) sequence = random();
    if (n % 7 == 0) sequence = UINT64_MAX - random() % 256;
    EXPECT_EQ(set.Insert(sequence), expected.insert(sequence).second) << sequence;
  }
}

}  // namespace
}  // namespace wq

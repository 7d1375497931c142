// The events and blocks of a history as bytes: what was appended is what is read, and no bytes make
// a reader fail. WQ_SEED is the seed.

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/history/history_buffer.h"
#include "storage/history/format.h"
#include "tests/support/environment.h"

namespace wq {
namespace {

std::vector<std::string> KeysOf(std::string_view events) {
  std::vector<std::string> keys;
  ForEachRecorded(events, [&](const RecordedEvent& event) { keys.emplace_back(event.key); });
  return keys;
}

TEST(HistoryBufferTest, KeepsWhatFitsAndCountsTheRest) {
  ManualClock clock;
  int wakes = 0;
  int half = 0;
  HistoryBuffer buffer(100, &clock, [&](bool half_full) { ++(half_full ? half : wakes); });
  buffer.Append(HistoryKind::kAdded, "first");                              // 21 bytes.
  buffer.Append(HistoryKind::kFailed, "second", 7, std::string(300, 'e'));  // Does not fit.
  buffer.Append(HistoryKind::kAdded, "third");                              // Comes after it.
  HistoryBytes bytes(100);
  buffer.Swap(&bytes);
  EXPECT_EQ(KeysOf(bytes.events()), std::vector<std::string>{"first"});
  EXPECT_EQ(bytes.lost, 2U);
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(half, 0);
  buffer.Append(HistoryKind::kFailed, "key", 7, "a longer error");  // 41 bytes.
  buffer.Append(HistoryKind::kDone, "key");
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(half, 1);
  HistoryBytes more(100);
  buffer.Swap(&more);
  EXPECT_EQ(KeysOf(more.events()), (std::vector<std::string>{"key", "key"}));
  EXPECT_EQ(more.lost, 0U);
}

TEST(HistoryBufferTest, ErrorsAreCutBetweenCharacters) {
  ManualClock clock;
  HistoryBuffer buffer(1000, &clock, [](bool) {});
  std::string error(kMaxHistoryErrorBytes - 1, 'e');
  buffer.Append(HistoryKind::kFailed, "k", 7, error + "ä");
  HistoryBytes bytes(1000);
  buffer.Swap(&bytes);
  ForEachRecorded(bytes.events(), [&](const RecordedEvent& event) {
    EXPECT_EQ(event.text, error);
    EXPECT_EQ(event.delay_us, 7);
  });
}

TEST(HistoryFormatTest, AnyBytesCanBeRead) {
  const uint64_t seed = support::Seed();
  SCOPED_TRACE("replay with WQ_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) {  // Small numbers are plausible lengths.
      byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    }
    for (const std::string& key : KeysOf(bytes)) EXPECT_LE(key.size(), bytes.size());
    storage::DecodedBlock decoded;
    EXPECT_FALSE(storage::DecodeBlock(bytes, &decoded));
    // With a checksum that matches, the events may still be no zstd frame.
    std::string encoded;
    storage::EncodeBlock({.queue = "q", .created_at_us = 1, .first_at_us = 2, .lost = 3},
                         std::string(1000, 'x'), &encoded);
    ASSERT_TRUE(storage::DecodeBlock(encoded, &decoded));
    decoded.stored = bytes;
    std::string events;
    static_cast<void>(storage::DecodeEvents(decoded, &events));
  }
}

TEST(HistoryFormatTest, ABlockIsReadAsItWasWritten) {
  for (const std::string& events : {std::string(), std::string("abc"), std::string(5000, 'x')}) {
    std::string encoded;
    storage::EncodeBlock({.queue = "pods", .created_at_us = -1, .first_at_us = 2, .lost = 3},
                         events, &encoded);
    const std::string segment = encoded + "rest";
    storage::DecodedBlock decoded;
    ASSERT_TRUE(storage::DecodeBlock(segment, &decoded));
    EXPECT_EQ(decoded.bytes, encoded.size());
    EXPECT_EQ(decoded.block.queue, "pods");
    EXPECT_EQ(decoded.block.created_at_us, -1);
    EXPECT_EQ(decoded.block.first_at_us, 2);
    EXPECT_EQ(decoded.block.lost, 3U);
    std::string read;
    ASSERT_TRUE(storage::DecodeEvents(decoded, &read));
    EXPECT_EQ(read, events);
  }
}

}  // namespace
}  // namespace wq

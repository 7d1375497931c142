// The bytes on disk, as docs/format.md shows them. If one of these tests fails, stores in the field
// can no longer be read: raise the format version, do not adapt the test.
#include "storage/process_log/format.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "storage/records.h"
#include "tests/storage/support.h"

namespace wq::storage {
namespace {

constexpr int64_t kAddedAt = 1'700'000'000'000'000;

// Each mutation of the batch: "+" or "-", family, key, value.
std::string BytesOf(const MutationBatch& batch) {
  std::string text;
  batch.ForEach([&text](const Mutation& mutation) {
    text.append(text.empty() ? "" : "\n").append(mutation.is_put ? "+" : "-");
    text.append(kFamilyNames[static_cast<int>(mutation.family)]);
    text.append(" ").append(Hex(mutation.key));
    if (mutation.is_put) text.append(" ").append(Hex(mutation.value));
  });
  return text;
}

struct Written {
  std::function<void(MutationBatch*)> write;
  std::string bytes;
};

std::vector<Written> StoreAndQueues() {
  return {
      {[](auto* b) {
         PutStore({1, "01234567-89ab-4cde-8f01-23456789abcd", kAddedAt}, b);
       },
       "+default 73746f7265 "
       "0801122430313233343536372d383961622d346364652d386630312d323334353637383961626364"
       "188080f9c0c1c48203"},
      {[](auto* b) { PutProcessLog({.number = 3, .position = 40, .closed = false}, b); },
       "+default 70726f636573732d6c6f67 08031028"},
      {[](auto* b) { PutTokens({.next = 4097}, b); }, "+default 746f6b656e73 088120"},
      {[](auto* b) {
         PutQueue({"pods", 1, kAddedAt}, b);
       },
       "+default 71756575652f706f6473 0801108080f9c0c1c48203"},
      {[](auto* b) {
         PutQueueState(1, {8192, {}, false, 0}, b);
       },
       "+default 73746174652f00000001 088040"},
      {[](auto* b) {
         PutQueueState(1, {8192, "5 17", true, kAddedAt, 0, 5'000'000, kAddedAt - 5'000'000}, b);
       },
       "+default 73746174652f00000001 088040120435203137180120"
       "8080f9c0c1c4820330c096b10238c0e9c7bec1c48203"},
      {[](auto* b) {
         PutCursor(1, {"pods", "41\xff"}, b);
         PutCursor(1, {"pods", {}}, b);
         EraseCursor(1, "pods", b);
       },
       "+cursors 00000001706f6473 3431ff\n+cursors 00000001706f6473 \n-cursors 00000001706f6473"},
      {[](auto* b) {
         PutSource(1, {.id = 2, .name = "pods", .fingerprint = 1, .scope = 2}, b);
         EraseSource(1, 2, b);
       },
       "+sources 0000000100000002 0a04706f6473110100000000000000190200000000000000\n"
       "-sources 0000000100000002"},
      {[](auto* b) {
         const std::string_view keys[] = {"ns/a", "b"};
         PutObject(1,
                   {.source = 2,
                    .object = "ns/a",
                    .version = "v7",
                    .fingerprint = 1,
                    .scope = 2,
                    .keys = EncodeKeys(keys, "ns/a"),
                    .tombstone = "t"},
                   b);
         EraseObject(1, 2, "ns/a", b);
       },
       "+sources 00000001000000026e732f61 "
       "0a02763711010000000000000019020000000000000022030001622a0174\n"
       "-sources 00000001000000026e732f61"},
  };
}

std::vector<Written> Keys() {
  return {
      {[](auto* b) {
         PutPending(1, {"ns/a", kFastLane, 8193, kAddedAt, {}}, b);
         PutPending(1, {"ns/a", kFastLane, 8193, kAddedAt, "ns"}, b);
         ErasePending(1, kFastLane, 8193, "ns/a", b);
       },
       "+dirty 0000000100000000000000016e732f61 088140108080f9c0c1c48203\n"
       "+dirty 0000000100000000000000016e732f61 088140108080f9c0c1c482031a026e73\n"
       "-dirty 0000000100000000000000016e732f61"},
      {[](auto* b) {
         PutPending(1, {"ns/a", kSlowLane, 5, kAddedAt, {}}, b);
         ErasePending(1, kSlowLane, 5, "ns/a", b);
       },
       "+lanes 000000018000006300000000000000006e732f61 0805108080f9c0c1c48203\n"
       "-lanes 000000018000006300000000000000006e732f61"},
      {[](auto* b) {
         const int64_t ready_at = kAddedAt + 5'000'000;
         PutDelayed(1, {"ns/a", ready_at, 5'000'000, kAddedAt, kSlowLane, {}}, b);
         PutDelayed(1, {"ns/a", ready_at, 5'000'000, kAddedAt, kSlowLane, "ns"}, b);
         EraseDelayed(1, ready_at, "ns/a", b);
       },
       "+delayed 0000000180060a24186a8b406e732f61 08c096b102108080f9c0c1c4820318c701\n"
       "+delayed 0000000180060a24186a8b406e732f61 "
       "08c096b102108080f9c0c1c4820318c70122026e73\n"
       "-delayed 0000000180060a24186a8b406e732f61"},
      {[](auto* b) {
         PutFailures(1, {"ns/a", 2, kAddedAt, kAddedAt + 1, "boom"}, b);
         EraseFailures(1, "ns/a", b);
       },
       "+failures 000000016e732f61 0802108080f9c0c1c48203188180f9c0c1c482032204626f6f6d\n"
       "-failures 000000016e732f61"},
      {[](auto* b) {
         PutQuarantine(
             1, {{"ns/a", 2, kAddedAt, kAddedAt + 1, "boom"}, kAddedAt + 1, kSlowLane, "ns"}, b);
         PutQuarantine(1, {{"ns/a", 0, 0, 0, {}}, kAddedAt, kFastLane, {}}, b);
         EraseQuarantine(1, "ns/a", b);
       },
       "+quarantine 000000016e732f61 0802108080f9c0c1c48203188180f9c0c1c482032204626f6f6d"
       "288180f9c0c1c4820330c7013a026e73\n"
       "+quarantine 000000016e732f61 288080f9c0c1c48203\n"
       "-quarantine 000000016e732f61"},
  };
}

TEST(Format, EachRowHasItsBytes) {
  for (const auto& rows : {StoreAndQueues(), Keys()}) {
    for (const Written& each : rows) {
      MutationBatch batch;
      each.write(&batch);
      EXPECT_EQ(BytesOf(batch), each.bytes);
    }
  }
}

TEST(Format, RecordOfAProcessLog) {
  MutationBatch batch;
  ErasePending(1, kFastLane, 8193, "ns/a", &batch);
  const std::string mutations(batch.mutations());
  EXPECT_EQ(Hex(mutations), "0401100000000100000000000000016e732f61");
  const LogRecordHeader header = EncodeLogRecordHeader(0, 0, mutations);
  EXPECT_EQ(Hex({header.data(), header.size()}), "b17b2fb5130000000000000000000000");
  EXPECT_EQ(LogRecordBytes(mutations.size()), 40U);
  const LogRecordHeader with_nonce = EncodeLogRecordHeader(0, 0x0123456789abcdef, mutations);
  EXPECT_EQ(Hex({with_nonce.data(), with_nonce.size()}), "b17b2fb513000000efcdab8967452301");
}

TEST(Format, ProcessLogHeader) {
  const std::string page = EncodeLogHeader({.store_uuid = "01234567-89ab-4cde-8f01-23456789abcd",
                                            .boot_id = "b",
                                            .number = 3,
                                            .capacity = 8192,
                                            .nonce = 0x0123456789abcdef});
  ASSERT_EQ(page.size(), 4096U);
  EXPECT_EQ(Hex(page.substr(0, 12)), "77712d72696e670a02000000");
  EXPECT_EQ(Hex(page.substr(16, 63)),
            "03000000000000000020000000000000efcdab896745230124"
            "30313233343536372d383961622d346364652d386630312d3233343536373839616263640162");
  EXPECT_EQ(page.find_first_not_of('\0', 79), std::string::npos);
}

TEST(Format, ProcessLogHeaderOfVersion1) {
  ProcessLogHeader header = {.store_uuid = "u", .boot_id = "b", .number = 3, .capacity = 8192};
  std::string page = EncodeLogHeader(header);
  std::string checked = page.substr(16).erase(16, 8) + std::string(8, '\0');  // No nonce.
  const uint32_t checksum = MaskCrc32c(Crc32c(0, checked));
  page.replace(8, 4, std::string("\1\0\0\0", 4));
  page.replace(12, 4, reinterpret_cast<const char*>(&checksum), 4);
  page.replace(16, checked.size(), checked);
  header.nonce = 5;
  ASSERT_TRUE(DecodeLogHeader(page, &header).ok());
  EXPECT_EQ(header.nonce, 0U);
  EXPECT_EQ(header.store_uuid, "u");
  EXPECT_EQ(header.boot_id, "b");
  EXPECT_EQ(header.capacity, 8192U);
}

TEST(Format, FamiliesKeepTheirNumbersAndNames) {
  EXPECT_THAT(kFamilyNames, ::testing::ElementsAre("default", "dirty", "lanes", "delayed",
                                                   "failures", "quarantine", "cursors", "sources"));
  EXPECT_EQ(static_cast<int>(Family::kSources), 7);
  EXPECT_EQ(kSequenceBlockBits, 13);
}

}  // namespace
}  // namespace wq::storage

// The bytes on disk, as docs/format.md shows them. If one of these tests fails, stores in the field
// can no longer be read: raise the format version, do not adapt the test.
#include "storage/process_log/format.h"

#include <gmock/gmock.h>

#include "base/crc32c.h"
#include "storage/records.h"
#include "tests/storage/support.h"
#include "tests/support/memory_storage.h"

namespace wq::storage {
namespace {

constexpr int64_t kAddedAt = 1'700'000'000'000'000;

class FormatTest : public ::testing::Test {
 protected:
  // The one mutation of batch_: "+" or "-", family, key, value.
  std::string Bytes() {
    std::string text;
    batch_.ForEach([&text](const Mutation& mutation) {
      text.append(mutation.is_put ? "+" : "-");
      text.append(kFamilyNames[static_cast<int>(mutation.family)]);
      text.append(" ").append(Hex(mutation.key));
      if (mutation.is_put) text.append(" ").append(Hex(mutation.value));
    });
    batch_.Clear();
    return text;
  }
  MutationBatch batch_;
};

TEST_F(FormatTest, Store) {
  PutStore({1, "01234567-89ab-4cde-8f01-23456789abcd", kAddedAt}, &batch_);
  EXPECT_EQ(Bytes(),
            "+default 73746f7265 "
            "0801122430313233343536372d383961622d346364652d386630312d323334353637383961626364"
            "188080f9c0c1c48203");
}

TEST_F(FormatTest, ProcessLog) {
  PutProcessLog({.number = 3, .position = 40, .closed = false}, &batch_);
  EXPECT_EQ(Bytes(), "+default 70726f636573732d6c6f67 08031028");
  ErasePending(1, kFastLane, 8193, "ns/a", &batch_);
  const std::string mutations(batch_.mutations());
  EXPECT_EQ(Hex(mutations), "0401100000000100000000000000016e732f61");
  const LogRecordHeader header = EncodeLogRecordHeader(0, 0, mutations);
  EXPECT_EQ(Hex({header.data(), header.size()}), "b17b2fb5130000000000000000000000");
  EXPECT_EQ(LogRecordBytes(mutations.size()), 40U);
  const LogRecordHeader with_nonce = EncodeLogRecordHeader(0, 0x0123456789abcdef, mutations);
  EXPECT_EQ(Hex({with_nonce.data(), with_nonce.size()}), "b17b2fb513000000efcdab8967452301");
}

TEST_F(FormatTest, Tokens) {
  PutTokens({.next = 4097}, &batch_);
  EXPECT_EQ(Bytes(), "+default 746f6b656e73 088120");
}

TEST_F(FormatTest, ProcessLogHeader) {
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

TEST_F(FormatTest, ProcessLogHeaderOfVersion1) {
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

TEST_F(FormatTest, Queue) {
  PutQueue({"pods", 1, kAddedAt}, &batch_);
  EXPECT_EQ(Bytes(), "+default 71756575652f706f6473 0801108080f9c0c1c48203");
}

TEST_F(FormatTest, QueueState) {
  PutQueueState(1, {8192, {}, false, 0}, &batch_);
  EXPECT_EQ(Bytes(), "+default 73746174652f00000001 088040");
  PutQueueState(1, {8192, "5 17", true, kAddedAt, 0, 5'000'000, kAddedAt - 5'000'000}, &batch_);
  EXPECT_EQ(Bytes(),
            "+default 73746174652f00000001 088040120435203137180120"
            "8080f9c0c1c4820330c096b10238c0e9c7bec1c48203");
}

TEST_F(FormatTest, PendingOfTheDefaultLane) {
  PutPending(1, {"ns/a", kFastLane, 8193, kAddedAt, {}}, &batch_);
  EXPECT_EQ(Bytes(), "+dirty 0000000100000000000000016e732f61 088140108080f9c0c1c48203");
  ErasePending(1, kFastLane, 8193, "ns/a", &batch_);
  EXPECT_EQ(Bytes(), "-dirty 0000000100000000000000016e732f61");
}

TEST_F(FormatTest, PendingOfAGroup) {
  PutPending(1, {"ns/a", kFastLane, 8193, kAddedAt, "ns"}, &batch_);
  EXPECT_EQ(Bytes(), "+dirty 0000000100000000000000016e732f61 088140108080f9c0c1c482031a026e73");
}

TEST_F(FormatTest, PendingOfAnotherLane) {
  PutPending(1, {"ns/a", kSlowLane, 5, kAddedAt, {}}, &batch_);
  EXPECT_EQ(Bytes(), "+lanes 000000018000006300000000000000006e732f61 0805108080f9c0c1c48203");
  ErasePending(1, kSlowLane, 5, "ns/a", &batch_);
  EXPECT_EQ(Bytes(), "-lanes 000000018000006300000000000000006e732f61");
}

TEST_F(FormatTest, Delayed) {
  PutDelayed(1, {"ns/a", kAddedAt + 5'000'000, 5'000'000, kAddedAt, kSlowLane, {}}, &batch_);
  EXPECT_EQ(Bytes(),
            "+delayed 0000000180060a24186a8b406e732f61 08c096b102108080f9c0c1c4820318c701");
  EraseDelayed(1, kAddedAt + 5'000'000, "ns/a", &batch_);
  EXPECT_EQ(Bytes(), "-delayed 0000000180060a24186a8b406e732f61");
}

TEST_F(FormatTest, DelayedOfAGroup) {
  PutDelayed(1, {"ns/a", kAddedAt + 5'000'000, 5'000'000, kAddedAt, kSlowLane, "ns"}, &batch_);
  EXPECT_EQ(Bytes(),
            "+delayed 0000000180060a24186a8b406e732f61 "
            "08c096b102108080f9c0c1c4820318c70122026e73");
}

TEST_F(FormatTest, Failures) {
  PutFailures(1, {"ns/a", 2, kAddedAt, kAddedAt + 1, "boom"}, &batch_);
  EXPECT_EQ(Bytes(),
            "+failures 000000016e732f61 0802108080f9c0c1c48203188180f9c0c1c482032204626f6f6d");
  EraseFailures(1, "ns/a", &batch_);
  EXPECT_EQ(Bytes(), "-failures 000000016e732f61");
}

TEST_F(FormatTest, Quarantine) {
  PutQuarantine(1, {{"ns/a", 2, kAddedAt, kAddedAt + 1, "boom"}, kAddedAt + 1, kSlowLane, "ns"},
                &batch_);
  EXPECT_EQ(Bytes(),
            "+quarantine 000000016e732f61 0802108080f9c0c1c48203188180f9c0c1c482032204626f6f6d"
            "288180f9c0c1c4820330c7013a026e73");
  PutQuarantine(1, {{"ns/a", 0, 0, 0, {}}, kAddedAt, kFastLane, {}}, &batch_);
  EXPECT_EQ(Bytes(), "+quarantine 000000016e732f61 288080f9c0c1c48203");
  EraseQuarantine(1, "ns/a", &batch_);
  EXPECT_EQ(Bytes(), "-quarantine 000000016e732f61");
}

TEST_F(FormatTest, Cursor) {
  PutCursor(1, {"pods", "41\xff"}, &batch_);
  EXPECT_EQ(Bytes(), "+cursors 00000001706f6473 3431ff");
  PutCursor(1, {"pods", {}}, &batch_);
  EXPECT_EQ(Bytes(), "+cursors 00000001706f6473 ");
  EraseCursor(1, "pods", &batch_);
  EXPECT_EQ(Bytes(), "-cursors 00000001706f6473");
}

TEST_F(FormatTest, Source) {
  PutSource(1, {.id = 2, .name = "pods", .fingerprint = 1, .scope = 2}, &batch_);
  EXPECT_EQ(Bytes(),
            "+sources 0000000100000002 "
            "0a04706f6473110100000000000000190200000000000000");
  const std::string_view keys[] = {"ns/a", "b"};
  PutObject(1,
            {.source = 2,
             .object = "ns/a",
             .version = "v7",
             .fingerprint = 1,
             .scope = 2,
             .keys = EncodeKeys(keys, "ns/a"),
             .tombstone = "t"},
            &batch_);
  EXPECT_EQ(Bytes(),
            "+sources 00000001000000026e732f61 "
            "0a02763711010000000000000019020000000000000022030001622a0174");
  EraseObject(1, 2, "ns/a", &batch_);
  EXPECT_EQ(Bytes(), "-sources 00000001000000026e732f61");
  EraseSource(1, 2, &batch_);
  EXPECT_EQ(Bytes(), "-sources 0000000100000002");
}

TEST(Format, FamiliesKeepTheirNumbersAndNames) {
  EXPECT_THAT(kFamilyNames, ::testing::ElementsAre("default", "dirty", "lanes", "delayed",
                                                   "failures", "quarantine", "cursors", "sources"));
  EXPECT_EQ(static_cast<int>(Family::kSources), 7);
  EXPECT_EQ(kSequenceBlockBits, 13);
}

}  // namespace
}  // namespace wq::storage

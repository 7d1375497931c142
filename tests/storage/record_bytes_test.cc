// The values that are written without a Protobuf message are those that the message would be.
#include <random>
#include <string>

#include "storage/records.pb.h"
#include "tests/storage/records_fixture.h"

namespace wq::storage {
namespace {

class RecordBytesTest : public ::testing::Test {
 protected:
  // Numbers of every magnitude, with 0, the minimum and the maximum.
  template <typename Integer>
  Integer Draw() {
    const auto bits = static_cast<unsigned>(random_() % (8 * sizeof(Integer) + 1));
    const uint64_t number = bits == 0 ? 0 : ~uint64_t{0} >> (64 - bits);
    return static_cast<Integer>(random_() % 2 == 0 ? number : ~number & random_());
  }
  // The value of the one mutation of batch_.
  std::string Value() {
    std::string value;
    batch_.ForEach([&value](const Mutation& mutation) { value = mutation.value; });
    batch_.Clear();
    return value;
  }

  MutationBatch batch_;
  std::mt19937_64 random_{1};
};

TEST_F(RecordBytesTest, APendingRecordIsWhatProtobufWrites) {
  for (int i = 0; i < 10'000; ++i) {
    pb::PendingRecord message;
    message.set_sequence(Draw<uint64_t>());
    message.set_added_at_us(Draw<int64_t>());
    PutPending(kQueue,
               {.key = "k", .sequence = message.sequence(), .added_at_us = message.added_at_us()},
               &batch_);
    ASSERT_EQ(Hex(Value()), Hex(message.SerializeAsString()));
  }
}

TEST_F(RecordBytesTest, ADelayedRecordIsWhatProtobufWrites) {
  for (int i = 0; i < 10'000; ++i) {
    pb::DelayedRecord message;
    message.set_delay_us(Draw<int64_t>());
    message.set_added_at_us(Draw<int64_t>());
    message.set_lane(Draw<int32_t>());
    message.set_debounced(i % 2 == 1);
    message.set_resync(i % 4 < 2);
    PutDelayed(kQueue,
               {.key = "k",
                .delay_us = message.delay_us(),
                .added_at_us = message.added_at_us(),
                .lane = message.lane(),
                .debounced = message.debounced(),
                .resync = message.resync()},
               &batch_);
    ASSERT_EQ(Hex(Value()), Hex(message.SerializeAsString()));
  }
}

}  // namespace
}  // namespace wq::storage

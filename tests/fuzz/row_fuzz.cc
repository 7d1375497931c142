// Fuzz target: decoding of record keys and values of every family. Any bytes give a Status, and the
// views of the decoded fields are within the input.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "storage/row.h"

// The input: a family, the length of the key in two bytes, the key, the value.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wq::storage::Row;
  if (size < 3) return 0;
  const auto family = static_cast<wq::storage::Family>(data[0] % wq::storage::kFamilyCount);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  const size_t key_bytes =
      std::min<size_t>(data[1] | static_cast<size_t>(data[2]) << 8, rest.size());
  const std::string_view key = rest.substr(0, key_bytes);
  const std::string_view value = rest.substr(key_bytes);
  Row row;
  if (!row.Decode(family, key, value).ok()) return 0;
  WQ_CHECK(key.ends_with(row.key()), "a key that is not the end of its record's key");
  if (const auto* pending = row.As<wq::storage::PendingRecord>()) {
    // A decoded row is encoded to the same record.
    wq::storage::MutationBatch batch;
    PutPending(row.queue(), *pending, &batch);
    batch.ForEach([&](const wq::storage::Mutation& put) {
      WQ_CHECK(put.family == family && put.key == key, "another family or record key");
      Row second;
      WQ_CHECK(second.Decode(put.family, put.key, put.value).ok(), "not readable again");
      const auto* again = second.As<wq::storage::PendingRecord>();
      WQ_CHECK(again->sequence == pending->sequence && again->group == pending->group,
               "not the same again");
    });
  }
  return 0;
}

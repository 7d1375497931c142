// What the readers of records share: decoding, scanning, and the Status of a record that is damaged.
// Internal to storage/.
#pragma once

#include <climits>
#include <string_view>

#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

inline constexpr std::string_view kBadValue = "its value cannot be decoded";
inline constexpr std::string_view kShortKey = "its key is too short";

// Corruption that names the family, the record's key and what is wrong with it.
Status BadRecord(Family family, std::string_view record_key, std::string_view why);

// `message` is a Protobuf message; what it held goes.
template <typename Message>
bool Parse(std::string_view value, Message* message) {
  return value.size() <= INT_MAX &&
         message->ParseFromArray(value.data(), static_cast<int>(value.size()));
}

// Scans [begin, end) and stops at the first record that `decode_and_visit` finds bad.
// `decode_and_visit(key, value, &go_on)` returns a Status.
template <typename DecodeAndVisit>
Status ScanDecoded(const Reader& reader, Family family, std::string_view begin,
                   std::string_view end, const DecodeAndVisit& decode_and_visit) {
  Status bad;
  Status scanned =
      reader.Scan(family, begin, end, [&](std::string_view key, std::string_view value) {
        bool go_on = true;
        bad = decode_and_visit(key, value, &go_on);
        return bad.ok() && go_on;
      });
  return scanned.ok() ? bad : scanned;
}

}  // namespace wq::storage

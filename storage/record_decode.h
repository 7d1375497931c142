// Shared by the functions that read records: decoding, scanning, and the Status of a damaged
// record. Internal to storage/.
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

// `message` is a Protobuf message; its contents are replaced.
template <typename Message>
bool Parse(std::string_view value, Message* message) {
  return value.size() <= INT_MAX &&
         message->ParseFromArray(value.data(), static_cast<int>(value.size()));
}

// Scans [begin, end) until `decode_and_visit` returns an error or sets go_on to false.
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

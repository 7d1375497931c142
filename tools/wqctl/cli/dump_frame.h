// DumpFrame: whether the records that are read are whole dumps.
//
//   DumpFrame frame;
//   std::string error;
//   if (!frame.Take(record, &error)) …         // For each line, before it is used.
//   if (!frame.AtEnd(&error)) …                // When no line is left.
//
// A dump is between a begin and an end, which says how many records it has. Records without a begin
// are accepted as they are: dumps of earlier versions, and a part of a dump (ls -o jsonl). Several
// dumps may follow one another. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>

#include "tools/wqctl/text/dump_line.h"

namespace wqctl {

class DumpFrame {
 public:
  // False: the record must not be here; *error says why.
  bool Take(const DumpRecord& record, std::string* error);
  // False: the last dump has no end.
  bool AtEnd(std::string* error) const;

 private:
  enum class Place : uint8_t { kOutside, kInside, kBehind };

  Place place_ = Place::kOutside;
  uint64_t records_ = 0;  // Since the begin.
};

}  // namespace wqctl

// Writes and reads one line of a dump.
//
//   std::string line;
//   AppendDumpLine(DumpedCursor{"pods", "informer", "12345"}, false, &line);
//   DumpRecord record;
//   std::string error;
//   if (!ParseDumpLine(line, &record, &error)) …
//
// Pure functions. The parser accepts any bytes and trusts none of them. A line is one flat JSON
// object; docs/wqctl.md lists its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "wq/entry.h"
#include "wq/options.h"

namespace wqctl {

// Any record fits: a key of wq::kMaxKeyBytes, each byte of it as \u00XX, and the rest.
inline constexpr size_t kMaxDumpLineBytes = size_t{1} << 20;

struct DumpedEntry {
  std::string queue;
  wq::Entry entry;
};
struct DumpedCursor {
  std::string queue;
  std::string name;
  std::string value;
};
struct DumpedSource {
  std::string queue;
  wq::SourceRow source;
};
struct DumpedObject {
  std::string queue;
  wq::ObjectRow object;
};
// Limits of a group, which a dump of an earlier version has: nothing is read of them.
struct DumpedLimits {};
// A whole dump is between these two.
struct DumpBegin {
  uint64_t version = 1;  // Of the records.
};
struct DumpEnd {
  uint64_t records = 0;  // In between.
};
using DumpRecord = std::variant<wq::QueueInfo, DumpedCursor, DumpedSource, DumpedObject,
                                DumpedLimits, DumpedEntry, DumpBegin, DumpEnd>;

// Without a line end. With `hex` the key of an entry is written as "key_hex". Of limits nothing is
// written but their kind.
void AppendDumpLine(const DumpRecord& record, bool hex, std::string* out);
void AppendDumpLine(std::string_view queue, const wq::Entry& entry, bool hex, std::string* out);

// Returns false if the line is not a record; *error then says why, in printable text. Does not
// check whether a store can hold the record: the Importer does. Memory: a few times the line.
bool ParseDumpLine(std::string_view line, DumpRecord* record, std::string* error);

}  // namespace wqctl

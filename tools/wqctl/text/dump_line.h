// One line of a dump: written, and read back.
//
//   std::string line;
//   AppendDumpLine("pods", entry, false, &line);
//   DumpRecord record;
//   std::string error;
//   if (!ParseDumpLine(line, &record, &error)) …
//
// Pure functions over bytes, for any bytes; the parser trusts nothing of its input. A line is one
// flat JSON object; docs/wqctl.md has its fields.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "wq/entry.h"

namespace wqctl {

// What any record fits into: a key of wq::kMaxKeyBytes, each byte of it as \u00XX, and the rest.
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
using DumpRecord = std::variant<wq::QueueInfo, DumpedCursor, DumpedEntry>;

// Without a line end.
void AppendDumpLine(const wq::QueueInfo& info, std::string* out);
void AppendDumpLine(const DumpedCursor& cursor, std::string* out);
// With `hex` the key is "key_hex".
void AppendDumpLine(std::string_view queue, const wq::Entry& entry, bool hex, std::string* out);

// False: it is none, and *error says why, in printable words. Whether a store can hold the record is
// the Importer's to say. Memory: a few times the line.
bool ParseDumpLine(std::string_view line, DumpRecord* record, std::string* error);

}  // namespace wqctl

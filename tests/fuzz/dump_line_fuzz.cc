// Fuzzes a line of a dump, as load reads it: any bytes yield a record or a printable error, and a
// record that is written and read again stays the same.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "tools/wqctl/text/dump_line.h"
#include "wq/keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wqctl::DumpRecord record;
  std::string error;
  if (!wqctl::ParseDumpLine({reinterpret_cast<const char*>(data), size}, &record, &error)) {
    WQ_CHECK(!error.empty() && wq::IsValidUtf8(error), "an error that is no text");
    for (const char c : error) {
      WQ_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a control character");
    }
    return 0;
  }
  if (std::holds_alternative<wqctl::DumpedLimits>(record)) return 0;  // They are only read.
  for (const bool hex : {false, true}) {
    std::string line;
    wqctl::AppendDumpLine(record, hex, &line);
    WQ_CHECK(line.find('\n') == std::string::npos, "more than one line");
    wqctl::DumpRecord again;
    WQ_CHECK(wqctl::ParseDumpLine(line, &again, &error), "what was written is not read");
    std::string second;
    wqctl::AppendDumpLine(again, hex, &second);
    WQ_CHECK(second == line, "not the same record again");
  }
  return 0;
}

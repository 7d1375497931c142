// Fuzzes a line of a dump, as load reads it: any bytes yield a record or a printable error, and a
// record that is written and read again stays the same.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "tools/wqctl/text/dump_line.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

struct Append {
  std::string* line;
  bool hex = false;
  void operator()(const wq::QueueInfo& info) const { AppendDumpLine(info, line); }
  void operator()(const DumpedCursor& cursor) const { AppendDumpLine(cursor, line); }
  void operator()(const DumpedSource& source) const { AppendDumpLine(source, line); }
  void operator()(const DumpedObject& object) const { AppendDumpLine(object, line); }
  void operator()(const DumpedLimits& /*limits*/) const {}
  void operator()(const DumpBegin& begin) const { AppendDumpLine(begin, line); }
  void operator()(const DumpEnd& end) const { AppendDumpLine(end, line); }
  void operator()(const DumpedEntry& dumped) const {
    AppendDumpLine(dumped.queue, dumped.entry, hex, line);
  }
};

}  // namespace
}  // namespace wqctl

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using wqctl::Append;
  wqctl::DumpRecord record;
  std::string error;
  if (!wqctl::ParseDumpLine({reinterpret_cast<const char*>(data), size}, &record, &error)) {
    WQ_CHECK(!error.empty() && wq::IsValidUtf8(error), "an error that is no text");
    for (const char c : error) {
      WQ_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a control character");
    }
    return 0;
  }
  if (std::holds_alternative<wqctl::DumpedLimits>(record)) return 0;  // It is only read.
  for (const bool hex : {false, true}) {
    std::string line;
    std::visit(Append{&line, hex}, record);
    WQ_CHECK(line.find('\n') == std::string::npos, "more than one line");
    wqctl::DumpRecord again;
    WQ_CHECK(wqctl::ParseDumpLine(line, &again, &error), "what was written is not read");
    std::string second;
    std::visit(Append{&second, hex}, again);
    WQ_CHECK(second == line, "not the same record again");
  }
  return 0;
}

// Table: columns aligned as kubectl does it: an upper-case header, then rows, columns three spaces
// apart. The header is bold where colours are wanted (terminal.h).
//
//   Table table({"QUEUE", "PENDING"}, &out);
//   table.Add({"pods", "3"});
//   table.Finish();
//
// Streams: after kHeldRows rows the widths are fixed and each further row is printed at once, so
// the memory is bounded; a later, wider cell shifts its own row only. Cells are printed unchanged:
// escape them first. Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/wqctl/text/output.h"

namespace wqctl {

// The columns of an escaped text, about: it counts code points.
size_t WidthOf(std::string_view text);
// At most `width` columns of it; "…" replaces the rest.
std::string Fit(std::string_view text, size_t width);

class Table {
 public:
  Table(std::vector<std::string> header, Output* out);

  // Returns false once the output has ended.
  bool Add(std::vector<std::string> row);
  // Prints the held rows. Call it once, at the end.
  bool Finish();

 private:
  static constexpr size_t kHeldRows = 1000;

  bool PrintHeld();
  bool PrintRow(const std::vector<std::string>& row, bool bold);

  Output* const out_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> held_;  // The header first. Empty once widths_ are fixed.
  std::string line_;
};

}  // namespace wqctl

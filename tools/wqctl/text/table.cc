#include "tools/wqctl/text/table.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/wqctl/text/terminal.h"

namespace wqctl {
namespace {

constexpr size_t kGap = 3;

}  // namespace

size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string Fit(std::string_view text, size_t width) {
  if (WidthOf(text) <= width) return std::string(text);
  std::string fitting;
  size_t columns = 0;
  for (const char c : text) {
    columns += WidthOf({&c, 1});
    if (columns >= width) break;
    fitting.push_back(c);
  }
  return width == 0 ? "" : fitting + "…";
}

Table::Table(std::vector<std::string> header, Output* out) : out_(out), widths_(header.size()) {
  held_.push_back(std::move(header));
}

bool Table::Add(std::vector<std::string> row) {
  if (held_.empty()) return PrintRow(row, /*bold=*/false);
  held_.push_back(std::move(row));
  return held_.size() <= kHeldRows || PrintHeld();
}

bool Table::Finish() { return PrintHeld(); }

bool Table::PrintHeld() {
  for (const auto& row : held_) {
    for (size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], WidthOf(row[i]));
  }
  bool open = true;
  // Held rows begin with the header.
  bool bold = !held_.empty() && WantsColour(STDOUT_FILENO);
  for (const auto& row : held_) open = open && PrintRow(row, std::exchange(bold, false));
  held_.clear();
  return open;
}

bool Table::PrintRow(const std::vector<std::string>& row, bool bold) {
  line_.clear();
  if (bold) line_.append(kBold);
  for (size_t i = 0; i < row.size(); ++i) {
    line_.append(row[i]);
    if (i + 1 == row.size()) break;  // No spaces at the end of a line.
    const size_t width = WidthOf(row[i]);
    line_.append(kGap + (widths_[i] > width ? widths_[i] - width : 0), ' ');
  }
  if (bold) line_.append(kPlain);
  line_.push_back('\n');
  return out_->Write(line_);
}

}  // namespace wqctl

// Listing: rows as a table, as one JSON array, as one JSON object a line, or as
// one name a line.
//
//   Listing listing(format, {"QUEUE", "KEY"}, &out);
//   listing.Row([&](std::string* json) { … }, [&] { return std::vector<std::string>{…}; },
//               [&] { return key + "\n"; });
//   listing.End(true);
//
// Streams. Of the forms of a row only the printed one is computed. Thread-compatible.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/text/format.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/table.h"

namespace wqctl {

class Listing {
 public:
  Listing(Format format, std::vector<std::string> header, Output* out)
      : format_(format), out_(out), table_(std::move(header), out) {}

  // `append_json` appends one object to a string, `cells` returns the cells of the table, `name`
  // the name with its end. False once the output has ended.
  template <typename AppendJson, typename Cells, typename Name>
  bool Row(const AppendJson& append_json, const Cells& cells, const Name& name) {
    const bool first = std::exchange(first_, false);
    if (IsTable(format_)) return table_.Add(cells());
    if (format_ == Format::kName) return out_->Write(name());
    line_.clear();
    if (format_ == Format::kJson) line_ = first ? "[\n" : ",\n";
    append_json(&line_);
    if (format_ == Format::kJsonl) line_.push_back('\n');
    return out_->Write(line_);
  }

  // Call it after the last row. Output that an error has cut off must not appear complete: then the
  // array stays open, and an empty table is not printed.
  void End(bool complete) {
    if (IsTable(format_)) {
      if (complete || !first_) table_.Finish();
    } else if (format_ == Format::kJson && complete) {
      out_->Write(first_ ? "[]\n" : "\n]\n");
    }
  }

 private:
  const Format format_;
  Output* const out_;
  Table table_;
  bool first_ = true;
  std::string line_;
};

}  // namespace wqctl

#include "tools/wqctl/cli/dump_frame.h"

#include <utility>
#include <variant>

#include "base/mutant.h"

namespace wqctl {

bool DumpFrame::Take(const DumpRecord& record, std::string* error) {
  if (std::holds_alternative<DumpBegin>(record)) {
    if (!AtEnd(error)) return false;
    place_ = Place::kInside;
    records_ = 0;
    return true;
  }
  if (const auto* end = std::get_if<DumpEnd>(&record)) {
    if (std::exchange(place_, Place::kBehind) != Place::kInside) {
      *error = "it is the end of a dump without its begin";
    } else if (end->records != records_) {
      *error = "the dump had " + std::to_string(end->records) + " records, and here are " +
               std::to_string(records_);
    } else {
      return true;
    }
    return false;
  }
  ++records_;
  if (place_ != Place::kBehind) return true;
  *error = "it is behind the end of the dump";
  return false;
}

bool DumpFrame::AtEnd(std::string* error) const {
  if (place_ != Place::kInside || WQ_MUTANT(cut_dump_is_taken)) return true;
  *error = "the dump was cut short after " + std::to_string(records_) +
           " records: it has no end. Dump the store again; without the line of its begin, what is "
           "here is taken as it is";
  return false;
}

}  // namespace wqctl

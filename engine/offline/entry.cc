#include "wq/entry.h"

namespace wq {
namespace {

// By number.
constexpr std::string_view kNames[kEntryStateCount] = {"pending", "delayed", "failing",
                                                       "quarantined"};

}  // namespace

std::string_view EntryStateName(EntryState state) {
  return kNames[static_cast<size_t>(state) % kEntryStateCount];
}

std::optional<EntryState> ParseEntryState(std::string_view name) {
  for (size_t i = 0; i < kEntryStateCount; ++i) {
    if (kNames[i] == name) return static_cast<EntryState>(i);
  }
  return std::nullopt;
}

}  // namespace wq

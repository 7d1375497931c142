#include "refusal.h"

#include <algorithm>
#include <string_view>

namespace wq::storage {
namespace {

size_t CountOf(std::string_view part, std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A part of the text, of at least two words, that is in it twice; empty: none.
std::string RepeatedPart(std::string_view text) {
  std::set<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(":;,("), text.size());
    std::string_view part = text.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.find(' ') != part.npos && !parts.insert(part).second) return std::string(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

std::string FaultOfRefusal(const std::string& dir, const std::set<std::string>& files,
                           const std::string& message, bool is_row) {
  std::string_view what = message;
  const std::string next = "; run wqctl --store " + dir +
                           " verify, then restore a snapshot or run wqctl --store " + dir +
                           " repair --into NEW";
  if (!is_row) {
    if (!what.ends_with(next)) return "no next step: " + message;
    what.remove_suffix(next.size());
  }
  if (CountOf(dir, what) != 1) return "not one path: " + message;
  if (const std::string twice = RepeatedPart(what); !twice.empty()) {
    return "twice \"" + twice + "\": " + message;
  }
  if (what.find("Corruption") != what.npos) return "the code in the message: " + message;
  const bool named = std::any_of(files.begin(), files.end(), [what](const std::string& file) {
    return what.find(file) != what.npos;
  });
  return named ? "" : "no name of the file: " + message;
}

}  // namespace wq::storage

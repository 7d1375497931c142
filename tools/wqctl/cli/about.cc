#include "tools/wqctl/cli/about.h"

#include <algorithm>

namespace wqctl {

std::vector<std::string> OptionAbout::Choices() const {
  std::vector<std::string> choices;
  if (type.find('|') == std::string::npos) return choices;
  for (size_t begin = 0; begin <= type.size();) {
    const size_t end = std::min(type.find('|', begin), type.size());
    std::string word = type.substr(begin, end - begin);
    const bool literal = !word.empty() && std::all_of(word.begin(), word.end(),
                                                      [](char c) { return c >= 'a' && c <= 'z'; });
    if (literal) choices.push_back(std::move(word));
    begin = end + 1;
  }
  return choices;
}

const OptionAbout* VerbAbout::Find(std::string_view option) const {
  const auto found = std::find_if(options.begin(), options.end(), [option](const OptionAbout& o) {
    return std::find(o.names.begin(), o.names.end(), option) != o.names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

std::vector<std::string> FamiliesOf(const std::vector<VerbAbout>& verbs) {
  std::vector<std::string> families;
  for (const VerbAbout& verb : verbs) {
    const size_t space = verb.name.find(' ');
    if (space == std::string::npos) continue;
    std::string family = verb.name.substr(0, space);
    if (families.empty() || families.back() != family) families.push_back(std::move(family));
  }
  return families;
}

}  // namespace wqctl

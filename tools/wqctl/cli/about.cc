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

}  // namespace wqctl

#include "tools/wqctl/cli/about.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace wqctl {

std::vector<std::string> OptionAbout::Choices() const {
  if (type.find('|') == std::string::npos) return {};
  std::vector<std::string> choices = absl::StrSplit(type, '|');
  std::erase_if(choices, [](const std::string& word) {
    return word.empty() || !std::all_of(word.begin(), word.end(), absl::ascii_islower);
  });
  return choices;
}

bool OptionAbout::Accepts(const std::string& value) const {
  const std::vector<std::string> choices = Choices();
  return choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end();
}

const OptionAbout* VerbAbout::Find(std::string_view option) const {
  const auto found = std::find_if(options.begin(), options.end(), [option](const OptionAbout& o) {
    return std::find(o.names.begin(), o.names.end(), option) != o.names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace wqctl

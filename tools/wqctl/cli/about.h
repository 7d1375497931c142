// Descriptions of the verbs and their options, for completion, the manual page, and settings.
//
//   for (const VerbAbout& verb : AboutVerbs()) out << verb.name << ": " << verb.summary << "\n";
//
// They come from the parsers that read the command lines, so the two cannot differ. Plain data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wqctl {

struct OptionAbout {
  std::vector<std::string> names;  // "-q", "--queue": the long name last.
  std::string type;                // "NAME", "json|text"; empty for a flag.
  std::string description;
  bool required = false;

  // The words in `type` that the option accepts: of "fast|slow|N" fast and slow.
  std::vector<std::string> Choices() const;
  // Whether the option may take the value: of an option without choices this is not known here.
  bool Accepts(const std::string& value) const;
};

struct VerbAbout {
  std::string name;  // One word, or two.
  std::string summary;
  std::string description;
  std::string synopsis;  // What follows the options; "" or with a space in front.
  std::string examples;  // May begin with further explanations.
  std::vector<OptionAbout> options;

  const OptionAbout* Find(std::string_view option) const;  // nullptr: no such option.
};

// All verbs, in the order of the help; and the options before the verb. Defined in parse.cc.
std::vector<VerbAbout> AboutVerbs();
VerbAbout AboutRoot();

}  // namespace wqctl

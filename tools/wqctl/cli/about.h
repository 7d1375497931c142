// What the verbs' command lines know, for completion, manual pages, and settings that become words.
//
//   for (const VerbAbout& verb : AboutVerbs()) std::cout << verb.name << ": " << verb.summary << "\n";
//
// It is read out of the very parsers that read the command lines, so it cannot say anything else.
// Plain data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wqctl {

struct OptionAbout {
  std::vector<std::string> names;  // "-q", "--queue": the long one last.
  std::string type;                // "NAME", "json|text"; empty for a flag.
  std::string description;
  bool required = false;

  // The words that it takes, out of its type: of "fast|slow|N" fast and slow.
  std::vector<std::string> Choices() const;
};

struct VerbAbout {
  std::string name;  // One word, or two.
  std::string summary;
  std::string description;
  std::string synopsis;  // What follows the options; "" or with a space in front.
  std::string examples;  // And what there is to say beside.
  std::vector<OptionAbout> options;

  const OptionAbout* Find(std::string_view option) const;  // nullptr: it has none of this name.
};

// All of them, in the order of the help. Defined in parse.cc.
std::vector<VerbAbout> AboutVerbs();

// The first words of verbs of two words, once each.
std::vector<std::string> FamiliesOf(const std::vector<VerbAbout>& verbs);

}  // namespace wqctl

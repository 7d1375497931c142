// Settings: the user's defaults. A flag overrides the environment, which overrides the file.
//
//   Settings settings = ReadSettings();   // Throws UsageError, which names the file and the line.
//
// The file is $WQ_CONFIG, or else $XDG_CONFIG_HOME/wq/config, or else ~/.config/wq/config. Its
// lines are "name = value", empty, or comments that begin with "#". Plain data.
#pragma once

#include <functional>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace wqctl {

// The values by name, such as "output" or "replicate". store, color and progress are for all verbs;
// each other one is for the verbs that have an option of its name and accept the value.
using Settings = std::map<std::string, std::string>;

Settings ReadSettings();

// For files of "name = value". Without the blanks at both ends:
std::string Trimmed(std::string_view text);
// Passes on each line, trimmed, but empty ones and comments. A UsageError of `take` gets the path
// and the number of the line.
void ReadLines(std::istream& file, const std::string& path,
               const std::function<void(const std::string& line)>& take);
// Throws UsageError: it is not "name = value".
std::pair<std::string, std::string> NameAndValue(const std::string& line);

// A line for each setting, "    store    WQ_STORE    the store's directory\n", for the manual page.
std::string SettingsText();

}  // namespace wqctl

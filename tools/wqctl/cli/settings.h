// Settings: the user's defaults. A flag overrides the environment, which overrides the file.
//
//   Settings settings = ReadSettings();   // Throws UsageError, which names the file and the line.
//
// The file is $WQ_CONFIG, or else $XDG_CONFIG_HOME/wq/config, or else ~/.config/wq/config. Its
// lines are "name = value", empty, or comments that begin with "#". Plain data.
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wqctl {

struct Settings {
  std::string store;                    // store, WQ_STORE. Empty: none.
  std::optional<std::string> output;    // output, WQ_OUTPUT: for the verbs that know the format.
  std::optional<std::string> times;     // times, WQ_TIMES: relative or absolute.
  std::optional<std::string> color;     // color, WQ_COLOR: auto, always or never.
  std::optional<std::string> progress;  // progress, WQ_PROGRESS: auto, always or never.
  // Options, such as "--replicate", with their values: for the verbs that have the option.
  std::vector<std::pair<std::string, std::string>> others;
};

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

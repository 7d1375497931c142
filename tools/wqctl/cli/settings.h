// Settings: what a user does not want to say each time. A flag goes before the environment, that before
// the file.
//
//   Settings settings = ReadSettings();   // Throws UsageError, which names the file and the line.
//
// The file is $WQ_CONFIG, else $XDG_CONFIG_HOME/wq/config, else ~/.config/wq/config: lines
// "name = value", empty ones, and comments behind "#" at their beginning. Plain data.
#pragma once

#include <optional>
#include <string>

namespace wqctl {

struct Settings {
  std::string store;                  // store, WQ_STORE. Empty: none.
  std::optional<std::string> output;  // output, WQ_OUTPUT: for the verbs that know the format.
  std::optional<std::string> times;   // times, WQ_TIMES: relative or absolute.
  std::optional<std::string> color;   // color, WQ_COLOR: auto or never.
  std::optional<std::string> pager;   // pager, WQ_PAGER: a shell command; "" or cat: none.
};

Settings ReadSettings();

// "    store    WQ_STORE    what it is\n" for each, for help and manual.
std::string SettingsText();

}  // namespace wqctl

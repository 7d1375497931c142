#include "tools/wqctl/cli/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/cli/queues.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxLineBytes = 4096;

struct SettingKind {
  const char* name;
  const char* variable;
  const char* choices;  // "|a|b|"; empty: any text.
  const char* description;
};

constexpr std::array<SettingKind, 13> kSettings = {{
    {"store", "WQ_STORE", "", "the store's directory"},
    {"output", "WQ_OUTPUT", "|text|table|wide|json|jsonl|name|",
     "the format, for verbs that know it"},
    {"times", "WQ_TIMES", "|relative|absolute|", "how tables show times"},
    {"color", "WQ_COLOR", "|auto|always|never|", "auto: on a terminal, unless NO_COLOR is set"},
    {"progress", "WQ_PROGRESS", "|auto|always|never|", "auto: on a terminal, after a second"},
    // Each of these is an option of the same name.
    {"replicate", "WQ_REPLICATE", "", "the log of a replicated store, etcd://HOST:PORT/PREFIX"},
    {"replica", "WQ_REPLICA", "", "the name of this replica"},
    {"lease", "WQ_LEASE", "", "how long an owner keeps the store without etcd, in seconds"},
    {"etcd-ca", "WQ_ETCD_CA", "", "the file of the CA of etcd"},
    {"etcd-cert", "WQ_ETCD_CERT", "", "the file of the certificate to show to etcd"},
    {"etcd-key", "WQ_ETCD_KEY", "", "the file of its key"},
    {"etcd-user", "WQ_ETCD_USER", "", "the user of etcd"},
    {"etcd-password-file", "WQ_ETCD_PASSWORD_FILE", "", "the file of its password"},
}};

constexpr size_t kFirstOption = 5;  // Of kSettings: from here on each is an option.

void CheckSetting(const SettingKind& kind, const std::string& value, const std::string& where) {
  const std::string_view choices = kind.choices;
  if (choices.empty()) return;
  if (!value.empty() && choices.find("|" + value + "|") != std::string_view::npos) return;
  std::string list(choices.substr(1, choices.size() - 2));
  std::replace(list.begin(), list.end(), '|', ' ');
  Usage(where + ": \"" + wq::EscapeKey(value, 100) + "\" is not one of: " + list);
}

// In the order of kSettings.
using Values = std::array<std::optional<std::string>, kSettings.size()>;

std::string EnvironmentOf(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

// Returns "" if neither XDG_CONFIG_HOME nor HOME is set.
std::string FileName() {
  if (std::string file = EnvironmentOf("WQ_CONFIG"); !file.empty()) return file;
  // The XDG specification: a relative path is ignored.
  if (std::string dir = EnvironmentOf("XDG_CONFIG_HOME"); dir.starts_with('/'))
    return dir + "/wq/config";
  const std::string home = EnvironmentOf("HOME");
  return home.empty() ? home : home + "/.config/wq/config";
}

void ReadLine(const std::string& line, const std::string& where, Values* values) {
  const std::string text = Trimmed(line);
  if (text.empty() || text.front() == '#') return;
  const size_t equals = text.find('=');
  if (equals == std::string::npos || line.size() > kMaxLineBytes) {
    Usage(where + ": it is not \"name = value\"");
  }
  const std::string name = Trimmed(text.substr(0, equals));
  for (size_t i = 0; i < kSettings.size(); ++i) {
    if (name != kSettings[i].name) continue;
    std::string value = Trimmed(text.substr(equals + 1));
    CheckSetting(kSettings[i], value, where);
    (*values)[i] = std::move(value);
    return;
  }
  std::vector<std::string> names;
  names.reserve(kSettings.size());
  for (const SettingKind& kind : kSettings) names.emplace_back(kind.name);
  const std::optional<std::string> meant = Nearest(name, names);
  Usage(where + ": there is no setting \"" + wq::EscapeKey(name, 100) + "\"" +
        (meant ? "; did you mean \"" + *meant + "\"?" : ""));
}

void ReadSettingsFile(Values* values) {
  const std::string path = FileName();
  if (path.empty()) return;
  std::ifstream file(path);
  // A file that WQ_CONFIG names must exist.
  if (!file && !EnvironmentOf("WQ_CONFIG").empty()) {
    Usage("cannot read " + path + ", which WQ_CONFIG names");
  }
  std::string line;
  for (uint64_t number = 1; std::getline(file, line); ++number) {
    ReadLine(line, path + ":" + std::to_string(number), values);
  }
  if (file.bad()) Usage("cannot read " + path);  // A directory can be opened.
}

}  // namespace

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

Settings ReadSettings() {
  Values values;
  ReadSettingsFile(&values);
  for (size_t i = 0; i < kSettings.size(); ++i) {
    std::string value = EnvironmentOf(kSettings[i].variable);
    if (value.empty()) continue;
    CheckSetting(kSettings[i], value, kSettings[i].variable);
    values[i] = std::move(value);
  }
  Settings settings = {.store = values[0].value_or(""),
                       .output = values[1],
                       .times = values[2],
                       .color = values[3],
                       .progress = values[4],
                       .others = {}};
  for (size_t i = kFirstOption; i < kSettings.size(); ++i) {
    if (values[i]) {
      settings.others.emplace_back("--" + std::string(kSettings[i].name), *std::move(values[i]));
    }
  }
  return settings;
}

std::string SettingsText() {
  std::string text;
  for (const SettingKind& kind : kSettings) {
    std::string line = "  " + std::string(kind.name);
    line.resize(std::max<size_t>(line.size(), 22), ' ');
    line += kind.variable;
    line.resize(std::max<size_t>(line.size(), 45), ' ');
    text += line + kind.description + "\n";
  }
  return text;
}

}  // namespace wqctl

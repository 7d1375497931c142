#include "tools/wqctl/cli/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/cli/queues.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr size_t kMaxLineBytes = 4096;

struct SettingKind {
  const char* name;
  const char* variable;
  const char* choices;  // "a b"; empty: any text.
  const char* description;
};

constexpr std::array<SettingKind, 13> kSettings = {{
    {"store", "WQ_STORE", "", "the store's directory"},
    {"output", "WQ_OUTPUT", "text table wide json jsonl name",
     "the format, for verbs that know it"},
    {"times", "WQ_TIMES", "relative absolute", "how tables show times"},
    {"color", "WQ_COLOR", "auto always never", "auto: on a terminal, unless NO_COLOR is set"},
    {"progress", "WQ_PROGRESS", "auto always never", "auto: on a terminal, after a second"},
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

void CheckSetting(const SettingKind& kind, const std::string& value) {
  const std::string choices = kind.choices;
  const bool valid = !value.empty() && value.find(' ') == value.npos &&
                     (" " + choices + " ").find(" " + value + " ") != value.npos;
  if (choices.empty() || valid) return;
  Usage("\"" + wq::EscapeKey(value, 100) + "\" is not one of: " + choices);
}

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

void TakeLine(const std::string& line, Settings* settings) {
  auto [name, value] = NameAndValue(line);
  std::vector<std::string> names;
  for (const SettingKind& kind : kSettings) {
    names.emplace_back(kind.name);
    if (name != kind.name) continue;
    CheckSetting(kind, value);
    (*settings)[name] = std::move(value);
    return;
  }
  Usage("there is no setting \"" + wq::EscapeKey(name, 100) + "\"" + DidYouMean(name, names));
}

void ReadSettingsFile(Settings* settings) {
  const std::string path = FileName();
  if (path.empty()) return;
  std::ifstream file(path);
  // A file that WQ_CONFIG names must exist.
  if (!file && !EnvironmentOf("WQ_CONFIG").empty()) {
    Usage("cannot read " + path + ", which WQ_CONFIG names");
  }
  ReadLines(file, path, [settings](const std::string& line) { TakeLine(line, settings); });
  if (file.bad()) Usage("cannot read " + path);  // A directory can be opened.
}

// Adds the place to an error of `take`.
void AtPlace(const std::string& place, const std::function<void()>& take) {
  try {
    take();
  } catch (const UsageError& error) {
    Usage(place + ": " + error.message);
  }
}

}  // namespace

std::string Trimmed(std::string_view text) {
  return std::string(absl::StripAsciiWhitespace({text.data(), text.size()}));
}

void ReadLines(std::istream& file, const std::string& path,
               const std::function<void(const std::string& line)>& take) {
  std::string line;
  for (uint64_t number = 1; std::getline(file, line); ++number) {
    const std::string text = Trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    AtPlace(path + ":" + std::to_string(number), [&] {
      if (line.size() > kMaxLineBytes) Usage("the line is too long");
      take(text);
    });
  }
}

std::pair<std::string, std::string> NameAndValue(const std::string& line) {
  const std::string_view text = line;
  const size_t equals = text.find('=');
  if (equals == text.npos) Usage("it is not \"name = value\"");
  return {Trimmed(text.substr(0, equals)), Trimmed(text.substr(equals + 1))};
}

Settings ReadSettings() {
  Settings settings;
  ReadSettingsFile(&settings);
  for (const SettingKind& kind : kSettings) {
    std::string value = EnvironmentOf(kind.variable);
    if (value.empty()) continue;
    AtPlace(kind.variable, [&] { CheckSetting(kind, value); });
    settings[kind.name] = std::move(value);
  }
  return settings;
}

std::string SettingsText() {
  std::string text;
  for (const SettingKind& kind : kSettings) {
    std::string line = std::string("  ") + kind.name;
    line.resize(std::max<size_t>(line.size(), 22), ' ');
    line += kind.variable;
    line.resize(std::max<size_t>(line.size(), 45), ' ');
    text += line + kind.description + "\n";
  }
  return text;
}

}  // namespace wqctl

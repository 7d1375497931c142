#include "tools/wqctl/parse.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/cli/cli.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/settings.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/text/terminal.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

struct Verb {
  std::string_view name;  // One word, or two.
  Command (*parse)(const Input&);
  std::string_view summary;
};

constexpr Verb kVerbs[] = {
    {"init", ParseInit, "make a new, empty store if there is none"},
    {"add", ParseAdd, "enqueue keys"},
    {"sync", ParseSync, "enqueue the keys of what changed since the last list"},
    {"work", ParseWork, "run a command for each key, with retries and backoff"},
    {"serve", ParseServe, "own a store and serve it to other processes"},
    {"ui", ParseUi, "show a store that nobody serves on a live page"},
    {"workers", ParseWorkers, "show which workers hold which keys, and since when"},
    {"inspect", ParseInspect, "show the queues, or everything known about one key"},
    {"ls", ParseLs, "list entries, by many filters"},
    {"errors", ParseErrors, "group the keys that fail by their last errors"},
    {"dump", ParseDump, "print the contents of a store, for load"},
    {"load", ParseLoad, "write the output of dump into a store"},
    {"watch", ParseWatch, "show the queues as they change"},
    {"verify", ParseVerify, "check all of a store, without changing it"},
    {"repair", ParseRepair, "save the readable records of a damaged store into a new one"},
    {"snapshot create", ParseSnapshotCreate, "copy a store as it is now, also beside its owner"},
    {"snapshot ls", ParseSnapshotLs, "list snapshots"},
    {"snapshot restore", ParseSnapshotRestore, "make a store of a snapshot"},
    {"rm", ParseKeyChange, "remove pending keys"},
    {"delete", ParseKeyChange, "delete keys in whatever state they are"},
    {"cancel-delay", ParseKeyChange, "cancel the delays of keys"},
    {"requeue", ParseKeyChange, "make delayed keys pending now"},
    {"forget", ParseKeyChange, "clear the failures of keys"},
    {"release", ParseKeyChange, "make keys in quarantine pending again"},
    {"drop", ParseKeyChange, "remove keys in quarantine"},
    {"pause", ParsePause, "hand out nothing, for a time or until resume"},
    {"resume", ParseResume, "end a pause"},
    {"queue delete", ParseQueueDelete, "delete a queue with all that it has"},
    {"replication status", ParseReplicationStatus, "show a log, its replicas and etcd's members"},
    {"replication init", ParseReplicationInit, "make a store the first replica of a log"},
    {"replication seed", ParseReplicationSeed, "make a replica from a log"},
    {"replication remove", ParseReplicationRemove, "make a replica an ordinary store"},
    {"replication forget", ParseReplicationForget, "remove a replica from a log"},
    {"replication destroy", ParseReplicationDestroy, "delete a log"},
    {"promote", ParsePromote, "make a replica the owner of its store"},
    {"completion", ParseCompletion, "print the completion script of a shell"},
    {"man", ParseMan, "print the manual page"},
};

std::string AboutStore() {
  return R"(
DIR is also taken from the environment variable WQ_STORE, or from the settings file
($WQ_CONFIG, or ~/.config/wq/config); wqctl man lists the other settings.
wqctl VERB --help shows the options of a verb, with examples.

Exit codes: )" +
         std::string(kExitCodes);
}

bool InFamily(std::string_view verb, std::string_view family) {
  return verb.size() > family.size() && verb.starts_with(family) && verb[family.size()] == ' ';
}

// "Verbs:" and a line for each verb of `family`, or of all if it is empty.
std::string VerbList(std::string_view family) {
  std::string text = "Verbs:\n";
  for (const Verb& verb : kVerbs) {
    if (!family.empty() && !InFamily(verb.name, family)) continue;
    std::string name(verb.name);
    name.resize(std::max<size_t>(21, name.size()), ' ');
    text.append("  ").append(name).append(verb.summary).append("\n");
  }
  return text;
}

// "init, add, …": the verbs of `family`, or all if it is empty.
std::string VerbNames(std::string_view family) {
  std::string text;
  for (const Verb& verb : kVerbs) {
    if (!family.empty() && !InFamily(verb.name, family)) continue;
    text.append(text.empty() ? "" : ", ").append(verb.name);
  }
  return text;
}

std::string TakeFirst(Words* words) {
  std::string word = std::move(words->front());
  words->erase(words->begin());
  return word;
}

// Takes the second word of a verb of `family`. Throws Help if it is --help.
std::string TakeSecond(const std::string& family, Words* words) {
  if (words->empty()) Usage("which verb? One of " + VerbNames(family));
  std::string word = TakeFirst(words);
  if (word == "--help" || word == "-h") {
    throw Help{"Usage: wqctl [--store DIR] " + family + " VERB [OPTIONS]...\n\n" +
               VerbList(family) + AboutStore() + "\n"};
  }
  return word;
}

// What `ask` throws.
VerbAbout Answer(const std::function<void()>& ask) {
  try {
    ask();
  } catch (VerbAbout& about) {
    return std::move(about);
  }
  return {};
}

VerbAbout AboutOf(const Verb& verb) {
  Input input;
  input.verb = verb.name;
  input.words = AskAbout();
  VerbAbout about = Answer([&] { verb.parse(input); });
  about.summary = verb.summary;
  return about;
}

// A setting is a default for the verbs that have the option and accept the value.
Command ParseKnown(const Verb& verb, const Settings& settings, Input input) {
  const VerbAbout about = AboutOf(verb);
  for (const auto& [name, value] : settings) {
    const OptionAbout* const option = about.Find("--" + name);
    if (option == nullptr || !option->Accepts(value)) continue;
    input.words.insert(input.words.begin(), {"--" + name, value});
  }
  return verb.parse(input);
}

// Takes a setting that is for all verbs. Empty: it is not set.
std::string Take(const std::string& name, Settings* settings) {
  const auto setting = settings->extract(name);
  return setting ? setting.mapped() : "";
}

void SetTerminalUse(const RootOptions& root, Settings* settings) {
  const auto when = [settings](const char* name, const auto& flag) {
    const std::string setting = Take(name, settings);
    return ParseWhen(flag.value_or(setting)).value_or(When::kAuto);
  };
  SetColour(when("color", root.color));
  ShowProgress(when("progress", root.progress));
}

// `words`: the verb and the words after it.
Command ParseVerb(Words words, const Settings& settings, Input input) {
  if (words.empty()) Usage("which verb?", VerbList({}));
  std::string name = TakeFirst(&words);
  if (name == "help") {  // "help VERB" is "VERB --help".
    words.emplace_back("--help");
    return ParseVerb(std::move(words), settings, std::move(input));
  }
  if (name.starts_with('-')) Usage("unknown option \"" + name + "\"");
  std::string family;
  if (std::any_of(std::begin(kVerbs), std::end(kVerbs),
                  [&name](const Verb& verb) { return InFamily(verb.name, name); })) {
    family = name;
    name += " " + TakeSecond(family, &words);
  }
  input.words = std::move(words);
  for (const Verb& verb : kVerbs) {
    if (verb.name != name) continue;
    input.verb = name;
    return ParseKnown(verb, settings, std::move(input));
  }
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  Usage("unknown verb \"" + name + "\"" + DidYouMean(name, names), VerbList(family));
}

// A wrong setting is no reason to complete nothing.
Settings SettingsFor(const Words& rest) {
  try {
    return ReadSettings();
  } catch (const UsageError&) {
    if (rest.empty() || rest.front() != "completion") throw;
    return {};
  }
}

}  // namespace

std::vector<VerbAbout> AboutVerbs() {
  std::vector<VerbAbout> all;
  for (const Verb& verb : kVerbs) all.push_back(AboutOf(verb));
  return all;
}

VerbAbout AboutRoot() {
  RootOptions unset;
  return Answer([&unset] { ParseRoot(AskAbout(), "", &unset); });
}

std::variant<Command, int> ParseCommandLine(const Words& words, mode_t user_umask) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  Input input;
  input.user_umask = user_umask;
  if (mark != words.end()) input.behind.emplace(mark + 1, words.end());
  try {
    RootOptions root;
    const std::string about = VerbList({}) + AboutStore();
    Words rest = ParseRoot(Words(words.begin(), mark), about, &root);
    if (rest == Words{"help"}) rest = ParseRoot({"--help"}, about, &root);  // Throws the help.
    Settings settings;
    SetTerminalUse(root, &settings);  // For an error in the settings.
    settings = SettingsFor(rest);
    SetTerminalUse(root, &settings);
    const std::string store_dir = Take("store", &settings);
    input.store_dir = root.store_dir.empty() ? store_dir : root.store_dir;
    return ParseVerb(std::move(rest), settings, std::move(input));
  } catch (const Help& help) {
    Output out;
    out.Write(help.text);
    return out.Finish(kExitOk);
  } catch (const UsageError& error) {
    LogError(wq::EscapeKey(error.message, 1024));
    std::cerr << error.details << std::flush;
    LogError("see wqctl --help and wqctl VERB --help");
    return kExitUsage;
  }
}

int RunCommandLine(const Words& words, mode_t user_umask) {
  const auto parsed = ParseCommandLine(words, user_umask);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  return std::get<Command>(parsed)();
}

}  // namespace wqctl

// Reads the command line of one verb: CLI11 behind a small interface.
//
//   Command ParseAdd(const Input& input) {
//     AddArgs args;
//     VerbParser parser(input, {"Enqueues keys.", " KEY...|-", kExamples}, &args.store_dir);
//     parser.Required("-q,--queue", "NAME", "The queue", &args.queue);
//     parser.Flag("--yes", "Do not ask", &args.yes);
//     args.keys = parser.Parse();
//     return args;
//   }
//
// A wrong command line and a request for help are thrown, as in CLI11. Only parse.cc catches them.
// Thread-compatible.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/format.h"
#include "wq/keys.h"
#include "wq/options.h"

namespace wqctl {

using Words = std::vector<std::string>;

// The words of one verb, as parse.cc has divided the command line.
struct Input {
  std::string verb;             // One word, or two.
  std::string store_dir;        // From --store before the verb, or from the settings.
  Words words;                  // After the verb, before "--".
  std::optional<Words> behind;  // Behind "--".
  mode_t user_umask = 022;      // The user's own; wqctl's is stricter.
};

// Thrown: the words are wrong.
struct UsageError {
  std::string message;
  std::string details = {};  // Lines to print behind the message, as they are.
};
[[noreturn]] void Usage(std::string message, std::string details = {});
[[noreturn]] void Unexpected(const std::string& argument);
// A key that is given in hexadecimal. Throws UsageError.
std::string KeyOfHex(std::string_view text);

// Thrown: the text is all that is to be printed.
struct Help {
  std::string text;
};

// The words that make VerbParser::Parse and ParseRoot throw a VerbAbout. No command line can
// contain them.
Words AskAbout();

// Words behind "--" never reach CLI11, and neither do positional arguments: CLI11 would split
// "[a,b]" and take "++" for a mark, but a key may be any bytes.
class VerbParser {
 public:
  struct Verb {
    std::string description;
    std::string synopsis;  // What follows the options; "" or with a space in front.
    std::string examples;
  };

  // Adds --store for *store_dir, which Input::store_dir sets first. With nullptr the verb accepts
  // --store and ignores it. `input` must outlive the parser.
  VerbParser(const Input& input, const Verb& verb, std::string* store_dir);
  ~VerbParser();
  VerbParser(const VerbParser&) = delete;
  VerbParser& operator=(const VerbParser&) = delete;

  // An option whose text `take` reads. If `take` returns false, the text "is not <expected>".
  // `type` names the text in the help.
  void Option(const std::string& name, const std::string& type, const std::string& description,
              const std::string& expected, std::function<bool(const std::string&)> take);
  // An option that takes any text.
  template <typename Target>
  void Text(const std::string& name, const std::string& type, const std::string& description,
            Target* target) {
    Option(name, type, description, "", [target](const std::string& text) {
      *target = text;
      return true;
    });
  }
  // An option that takes any text but an empty one.
  void NonEmpty(const std::string& name, const std::string& type, const std::string& description,
                std::string* target);
  // An option that must be given and takes any text.
  void Required(const std::string& name, const std::string& type, const std::string& description,
                std::string* target);
  // An option that must be given, and may be given several times.
  void RequiredTexts(const std::string& name, const std::string& type,
                     const std::string& description, std::vector<std::string>* target);
  void Flag(const std::string& name, const std::string& description, bool* target);
  void Exclude(const std::string& option, const std::string& other);
  // Parse calls `finish` at the end, when all options have been read.
  void AtEnd(std::function<void()> finish);

  // Returns the positional arguments, then the words behind "--".
  Words Parse();
  void ParseWithoutArguments();
  const Words& positionals() const { return positionals_; }  // The arguments before "--".

 private:
  struct Cli;
  VerbAbout About() const;
  Words SplitShortOptions() const;
  [[noreturn]] void UnknownOption(const std::string& word) const;

  const Input& input_;
  const Verb verb_;
  const std::unique_ptr<Cli> cli_;
  std::string unused_store_ = "-";
  std::string* const store_dir_;
  std::vector<std::function<void()>> at_end_;
  Words positionals_;
};

// An option whose text `parse` reads. `parse` returns nullopt for a text that is not `expected`.
template <typename T, typename Target>
void AddParsed(VerbParser* parser, const std::string& name, const std::string& type,
               const std::string& description, const std::string& expected,
               std::optional<T> (*parse)(std::string_view), Target* target) {
  parser->Option(name, type, description, expected, [parse, target](const std::string& text) {
    std::optional<T> value = parse(text);
    if (value) *target = std::move(*value);
    return value.has_value();
  });
}

// "a|b|c".
std::string TypeOf(const Words& names);
// "a, b or c".
std::string AnyOf(const Words& names);

// An option that takes one of several words. An error says that the text is not `what` and lists
// the words: "a format: text or json".
template <typename T, typename Target>
void AddChoice(VerbParser* parser, const std::string& name, const std::string& description,
               const std::string& what, std::vector<std::pair<const char*, T>> choices,
               Target* target) {
  Words names;
  for (const auto& choice : choices) names.emplace_back(choice.first);
  parser->Option(name, TypeOf(names), description, what + AnyOf(names),
                 [choices = std::move(choices), target](const std::string& text) {
                   for (const auto& [word, value] : choices) {
                     if (word != text) continue;
                     *target = value;
                     return true;
                   }
                   return false;
                 });
}

// The words of --durability.
std::vector<std::pair<const char*, wq::Durability>> DurabilityWords();

// Options of several verbs.
void AddQueue(VerbParser* parser, std::string* queue);
void AddOnlyQueue(VerbParser* parser, std::optional<std::string>* queue);

// -o, which takes the names of `allowed`: kListingFormats or kOutcomeFormats.
template <size_t kCount, typename Target>
void AddFormat(VerbParser* parser, const std::array<Format, kCount>& allowed, Target* target,
               const std::string& description = "Output format") {
  std::vector<std::pair<const char*, Format>> choices;
  choices.reserve(kCount);
  for (const Format format : allowed) choices.emplace_back(FormatName(format), format);
  AddChoice(parser, "-o,--output", description, "an output format: ", std::move(choices), target);
}

template <typename Target>
void AddDuration(VerbParser* parser, const std::string& name, const std::string& description,
                 Target* target) {
  AddParsed(parser, name, "DURATION", description,
            "a duration such as 500ms, 1.5s or 1h30m, of at most 100 years (36525d)", ParseDuration,
            target);
}

template <typename Target>
void AddLane(VerbParser* parser, const std::string& description, Target* target) {
  AddParsed(parser, "--lane", "fast|slow|N", description, "a lane: fast, slow or a 32-bit integer",
            wq::ParseLane, target);
}

struct RootOptions {
  std::string store_dir;                // Unchanged without --store.
  std::optional<std::string> color;     // auto, always or never.
  std::optional<std::string> progress;  // Likewise.
};

// Reads the options before the verb. Returns the verb and the words after it.
Words ParseRoot(Words words, const std::string& footer, RootOptions* options);

}  // namespace wqctl

// What every verb's command line is read with: CLI11 behind a small interface.
//
//   VerbParser parser({"add", "Enqueues keys.", " KEY...|-", kExamples}, &args.store_dir);
//   parser.Required("-q,--queue", "NAME", "The queue", &args.queue);
//   parser.Flag("--yes", "Do not ask", &args.yes);
//   parser.Parse(input.words);
//
// What a command line is wrong in, and the wish for help, are thrown, as CLI11 does it; parse.cc
// catches both, so nothing leaves the parse*.cc files. Thread-compatible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/about.h"
#include "tools/wqctl/cli/args.h"
#include "tools/wqctl/text/duration.h"

namespace wqctl {

using Words = std::vector<std::string>;

// Thrown: the words are wrong.
struct UsageError {
  std::string message;
};
[[noreturn]] void Usage(std::string message);
// A key that was given in hexadecimal. Throws UsageError.
std::string KeyOfHex(std::string_view text);

// Thrown: there is nothing to do but to print this.
struct Help {
  std::string text;
};

// The words by which VerbParser::Parse is asked to throw a VerbAbout; no command line can hold them.
Words AskAbout();

// The words of one verb. What stands behind "--" never gets to CLI11, and neither do positional
// arguments: it would take "[a,b]" apart and "++" for a mark, but a key may be any bytes.
class VerbParser {
 public:
  struct Verb {
    std::string name;
    std::string description;
    std::string synopsis;  // What follows the options; "" or with a space in front.
    std::string examples;
  };

  // Has --store already, for *store_dir.
  VerbParser(const Verb& verb, std::string* store_dir);
  ~VerbParser();
  VerbParser(const VerbParser&) = delete;
  VerbParser& operator=(const VerbParser&) = delete;

  // An option whose text `take` reads; if it answers false, the text "is not <expected>".
  // `type` is how help calls the text.
  void Option(const std::string& name, const std::string& type, const std::string& description,
              const std::string& expected, std::function<bool(const std::string&)> take);
  // One that must be given; any text will do.
  void Required(const std::string& name, const std::string& type, const std::string& description,
                std::string* target);
  void Flag(const std::string& name, const std::string& description, bool* target);
  void Exclude(const std::string& option, const std::string& other);

  void Parse(Words words);
  const Words& positionals() const { return positionals_; }  // Those before "--".

 private:
  struct Cli;
  VerbAbout About() const;
  [[noreturn]] void UnknownOption(const std::string& word) const;

  const Verb verb_;
  const std::unique_ptr<Cli> cli_;
  std::string* const store_dir_;
  Words positionals_;
};

// An option whose text is read by `parse`, which answers nullopt for what it does not take.
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

template <Format... kAllowed>
std::optional<Format> ParseFormat(std::string_view text) {
  constexpr std::pair<std::string_view, Format> kNames[] = {
      {"text", Format::kText}, {"table", Format::kTable}, {"wide", Format::kWide},
      {"json", Format::kJson}, {"jsonl", Format::kJsonl}, {"yaml", Format::kYaml},
      {"name", Format::kName}};
  for (const auto& [name, format] : kNames) {
    if (name == text && ((format == kAllowed) || ...)) return format;
  }
  return std::nullopt;
}

// Options that several verbs have.
void AddQueue(VerbParser* parser, std::string* queue);
void AddOnlyQueue(VerbParser* parser, std::optional<std::string>* queue);
void AddTextFormat(VerbParser* parser, Format* format);     // text or json.
void AddListingFormat(VerbParser* parser, Format* format);  // table, json or jsonl.

template <typename Target>
void AddDuration(VerbParser* parser, const std::string& name, const std::string& description,
                 Target* target) {
  AddParsed(parser, name, "DURATION", description, "a duration such as 500ms, 1.5s or 1h30m",
            ParseDuration, target);
}

void NoMore(const Words& words);
Words Concatenate(Words first, const std::optional<Words>& second);

struct RootOptions {
  std::string store_dir;  // Unchanged without --store.
  bool no_pager = false;
};

// The options before the verb. Returns the verb and what follows it.
Words ParseRoot(Words words, const std::string& footer, RootOptions* options);

}  // namespace wqctl

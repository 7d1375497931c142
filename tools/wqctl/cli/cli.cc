#include "tools/wqctl/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutant.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/terminal.h"

namespace wqctl {
namespace {

// An error shows at most so much of a wrong value.
constexpr size_t kShownBytes = 100;

// A wrong value, for an error.
std::string Quoted(const std::string& text) {
  return "\"" + (text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + "…") + "\"";
}

// Help with our own usage line, which includes the arguments that CLI11 does not read.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  const std::string usage_;
};

// Reads the words, and translates what CLI11 throws.
void ParseWith(CLI::App* app, Words words) {
  std::reverse(words.begin(), words.end());  // The order that CLI11 expects.
  try {
    app->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    throw Help{app->help()};
  } catch (const CLI::CallForVersion& version) {
    throw Help{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    throw UsageError{error.what()};
  }
}

// CLI11 would split a text like "[a,b]" as a list. Of several values the last one counts, so that a
// setting, which is inserted first, is a default.
CLI::Option* OneText(CLI::Option* option, const std::string& type) {
  return option->type_name(type)->allow_extra_args(false)->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
}

void AddStore(CLI::App* app, std::string* store_dir) {
  // An unset variable of a shell is not to select another store.
  const auto check = [](const std::string& dir) { return dir.empty() ? "it is empty" : ""; };
  OneText(app->add_option("--store", *store_dir, "The store's directory"), "DIR")->check(check, "");
}

void AddWhen(CLI::App* app, const std::string& name, const std::string& description,
             std::optional<std::string>* target) {
  const auto read = [name, target](const std::string& text) {
    if (!ParseWhen(text)) {
      throw CLI::ValidationError(name, Quoted(text) + " is not one of: auto, always or never");
    }
    *target = text;
  };
  OneText(app->add_option_function<std::string>(name, read, description), "auto|always|never");
}

OptionAbout AboutOption(const CLI::Option& option) {
  OptionAbout about;
  for (const std::string& name : option.get_snames()) about.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) about.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) about.type = option.get_type_name();
  about.description = option.get_description();
  about.required = option.get_required();
  return about;
}

// Only the options.
VerbAbout AboutOptions(const CLI::App& app) {
  VerbAbout about;
  for (const CLI::Option* option : app.get_options()) about.options.push_back(AboutOption(*option));
  return about;
}

}  // namespace

struct VerbParser::Cli {
  CLI::App app;
};

void Usage(std::string message, std::string details) {
  throw UsageError{std::move(message), std::move(details)};
}

void Unexpected(const std::string& argument) { Usage("unexpected argument \"" + argument + "\""); }

std::string KeyOfHex(std::string_view text) {
  std::optional<std::string> bytes = FromHex(text);
  if (!bytes) Usage(Quoted(std::string(text)) + " is not hexadecimal");
  return *std::move(bytes);
}

VerbParser::VerbParser(const Input& input, const Verb& verb, std::string* store_dir)
    : input_(input),
      verb_(verb),
      cli_(new Cli{CLI::App(verb.description, "wqctl " + input.verb)}),
      store_dir_(store_dir == nullptr ? &unused_store_ : store_dir) {
  if (store_dir != nullptr) *store_dir = input.store_dir;
  cli_->app.allow_extras();
  cli_->app.formatter(std::make_shared<Formatter>("wqctl [--store DIR] " + input.verb +
                                                  " [OPTIONS]" + verb.synopsis));
  cli_->app.footer(verb.examples);
  AddStore(&cli_->app, store_dir_);
}

VerbParser::~VerbParser() = default;

void VerbParser::Option(const std::string& name, const std::string& type,
                        const std::string& description, const std::string& expected,
                        std::function<bool(const std::string&)> take) {
  const auto read = [name, expected, take = std::move(take)](const std::string& text) {
    if (take(text)) return;
    throw CLI::ValidationError(name, Quoted(text) + " is not " + expected);
  };
  OneText(cli_->app.add_option_function<std::string>(name, read, description), type);
}

void VerbParser::NonEmpty(const std::string& name, const std::string& type,
                          const std::string& description, std::string* target) {
  Option(name, type, description, "a text that is not empty", [target](const std::string& text) {
    *target = text;
    return !text.empty();
  });
}

void VerbParser::Required(const std::string& name, const std::string& type,
                          const std::string& description, std::string* target) {
  OneText(cli_->app.add_option(name, *target, description), type)->required();
}

void VerbParser::RequiredTexts(const std::string& name, const std::string& type,
                               const std::string& description, std::vector<std::string>* target) {
  const auto add = [target](const std::string& text) { target->push_back(text); };
  OneText(cli_->app.add_option_function<std::string>(name, add, description), type)
      ->required()
      ->trigger_on_parse();  // Each time that it is given, not only the last.
}

void VerbParser::Flag(const std::string& name, const std::string& description, bool* target) {
  cli_->app.add_flag(name, *target, description);
}

void VerbParser::Exclude(const std::string& option, const std::string& other) {
  cli_->app.get_option(option)->excludes(cli_->app.get_option(other));
}

void VerbParser::AtEnd(std::function<void()> finish) { at_end_.push_back(std::move(finish)); }

Words AskAbout() { return {std::string("\0about", 6)}; }

void VerbParser::UnknownOption(const std::string& word) const {
  std::vector<std::string> names;
  for (const OptionAbout& option : About().options) names.push_back(option.names.back());
  const std::string name = word.substr(0, word.find('='));
  if (name == "--color" || name == "--progress") {
    Usage("\"" + name + "\" goes before the verb: wqctl " + name + " … " + input_.verb);
  }
  Usage("unknown option \"" + word + "\"" + DidYouMean(name, names));
}

VerbAbout VerbParser::About() const {
  VerbAbout about = AboutOptions(cli_->app);
  about.name = input_.verb;
  about.description = verb_.description;
  about.synopsis = verb_.synopsis;
  about.examples = verb_.examples;
  return about;
}

// "-o=json" is "-o json", as with long options; CLI11 would read the value "=json".
Words VerbParser::SplitShortOptions() const {
  Words words;
  for (const std::string& word : input_.words) {
    const CLI::Option* option = nullptr;
    if (word.size() > 2 && word[0] == '-' && word[1] != '-' && word[2] == '=') {
      option = cli_->app.get_option_no_throw(word.substr(0, 2));
    }
    if (option != nullptr && option->get_items_expected_max() > 0) {
      words.push_back(word.substr(0, 2));
      words.push_back(word.substr(WQ_MUTANT(short_option_keeps_equals) ? 2 : 3));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

Words VerbParser::Parse() {
  if (input_.words == AskAbout()) throw About();
  ParseWith(&cli_->app, SplitShortOptions());
  positionals_ = cli_->app.remaining();
  for (const std::string& word : positionals_) {
    if (word.size() > 1 && word.front() == '-' && !WQ_MUTANT(unknown_option_is_taken)) {
      UnknownOption(word);
    }
  }
  if (store_dir_->empty()) Usage("which store? Give --store DIR or set WQ_STORE");
  for (const auto& finish : at_end_) finish();
  Words words = positionals_;
  if (input_.behind) words.insert(words.end(), input_.behind->begin(), input_.behind->end());
  return words;
}

void VerbParser::ParseWithoutArguments() {
  if (const Words words = Parse(); !words.empty()) Unexpected(words.front());
}

std::string TypeOf(const Words& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
  return text;
}

std::vector<std::pair<const char*, wq::Durability>> DurabilityWords() {
  return {{"async", wq::Durability::kAsync},
          {"process", wq::Durability::kProcess},
          {"power", wq::Durability::kPower},
          {"replicated", wq::Durability::kReplicated}};
}

std::string AnyOf(const Words& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : &name == &names.back() ? " or " : ", ") + name;
  }
  return text;
}

void AddQueue(VerbParser* parser, std::string* queue) {
  parser->Required("-q,--queue", "NAME", "The queue", queue);
}

void AddOnlyQueue(VerbParser* parser, std::optional<std::string>* queue) {
  parser->Text("-q,--queue", "NAME", "Only this queue", queue);
}

Words ParseRoot(Words words, const std::string& footer, RootOptions* options) {
  CLI::App root("wqctl: durable work queues from the shell.", "wqctl");
  root.formatter(std::make_shared<Formatter>("wqctl [--store DIR] VERB [OPTIONS]..."));
  root.footer(footer);
  root.prefix_command();  // The verb and what follows it remain.
  AddStore(&root, &options->store_dir);
  AddWhen(&root, "--color", "Colours; auto: on a terminal, unless NO_COLOR is set",
          &options->color);
  AddWhen(&root, "--progress", "A line about progress on stderr; auto: on a terminal",
          &options->progress);
  root.set_version_flag("--version", "wqctl " WQ_VERSION);
  if (words == AskAbout()) throw AboutOptions(root);
  ParseWith(&root, std::move(words));
  return root.remaining();
}

}  // namespace wqctl

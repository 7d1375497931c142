#include "tools/wqctl/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "tools/wqctl/duration.h"
#include "tools/wqctl/exit_code.h"
#include "tools/wqctl/log.h"
#include "tools/wqctl/output.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kVerbs = R"(Verbs:
  init      make a new, empty store
  add       enqueue keys
  work      run a command for each key, with retries and backoff
  inspect   show the queues, or all that is known of one key
  dump      print every entry

DIR is also taken from the environment variable WQ_STORE.
wqctl VERB --help tells more, with examples.

Exit codes: 0 ok, 1 failure, 2 usage, 3 store, queue or key not found,
4 store locked by another process, 5 corruption.)";

constexpr const char* kInitExamples = R"(Examples:
  wqctl --store /var/lib/pods init
  WQ_STORE=/var/lib/pods wqctl init)";

constexpr const char* kAddExamples =
    R"(KEY may be "-": keys are then read from standard input, one a line.
Behind "--" every word is a key, also one that begins with "-".

Examples:
  wqctl add -q pods default/web-1 default/web-2
  find . -type f -print0 | wqctl add -q files -0
  wqctl add -q pods --lane slow --after 1h30m default/web-1
  wqctl add -q pods -- -strange-key)";

constexpr const char* kWorkExamples =
    R"(CMD runs once for each key, without a shell. "{}" in its words becomes the key;
if there is none, the key is appended. Exit status 0 of CMD is success; anything
else is a failure, and the key is tried again after a delay that doubles each time.
Ends when nothing is pending or delayed. SIGTERM and SIGINT end it early: no new
key is begun, running commands get --grace to finish, the rest stays in the store.

Examples:
  wqctl work -q files -j 4 -- sha256sum {}
  wqctl work -q pods --max-requeues 5 --timeout 30s -- ./reconcile
  wqctl work -q files -- sh -c 'gzip -k "$1"' _ {})";

constexpr const char* kInspectExamples =
    R"(Works beside a living owner and after a crash, and changes nothing.

Examples:
  wqctl inspect
  wqctl inspect -q pods -o json
  wqctl inspect default/web-1)";

constexpr const char* kDumpExamples =
    R"(Pending entries come in hand-out order, then delayed ones by the time when they are
ready. Works beside a living owner and after a crash, and changes nothing.

Examples:
  wqctl dump -q pods
  wqctl dump -o table | head
  wqctl dump | jq -r 'select(.failures > 3) | .key')";

// An option whose text is read by `parse`, which answers nullopt for what it does not take.
template <typename T, typename Target>
CLI::Option* AddParsed(CLI::App* app, const std::string& name, Target* target,
                       std::optional<T> (*parse)(std::string_view), const std::string& expected,
                       const std::string& type, const std::string& description) {
  return app
      ->add_option_function<std::string>(
          name,
          [=](const std::string& text) {
            const std::optional<T> value = parse(text);
            if (!value) throw CLI::ValidationError(name, "\"" + text + "\" is not " + expected);
            *target = *value;
          },
          description)
      ->type_name(type);
}

template <typename Target>
CLI::Option* AddDuration(CLI::App* app, const std::string& name, Target* target,
                         const std::string& description) {
  return AddParsed<std::chrono::microseconds>(app, name, target, ParseDuration,
                                              "a duration such as 500ms, 1.5s or 1h30m", "DURATION",
                                              description);
}

template <Format... kAllowed>
std::optional<Format> ParseFormat(std::string_view text) {
  constexpr std::pair<std::string_view, Format> kNames[] = {{"text", Format::kText},
                                                            {"table", Format::kTable},
                                                            {"json", Format::kJson},
                                                            {"jsonl", Format::kJsonl}};
  for (const auto& [name, format] : kNames) {
    if (name == text && ((format == kAllowed) || ...)) return format;
  }
  return std::nullopt;
}

// Not CLI11's own reading of numbers, which takes "-1" for a very large one.
std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || stop != end) return std::nullopt;
  return count;
}

std::optional<wq::Lane> ParseNamedLane(std::string_view text) {
  const std::optional<wq::Lane> lane = wq::ParseLane(text);
  return lane == wq::kFastLane || lane == wq::kSlowLane ? lane : std::nullopt;
}

std::optional<wq::Durability> ParseDurability(std::string_view text) {
  if (text == "async") return wq::Durability::kAsync;
  if (text == "process") return wq::Durability::kProcess;
  if (text == "power") return wq::Durability::kPower;
  return std::nullopt;
}

// Thrown, as CLI11's own errors are, within this file only.
[[noreturn]] void Usage(const std::string& message) {
  throw CLI::ParseError(message, CLI::ExitCodes::InvalidError);
}

// Help with a usage line that names what CLI11 does not know of: the words that it leaves to us.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  const std::string usage_;
};

// --help: what to print.
struct Help {
  std::string text;
};

// The words of one verb. What stands behind "--" never gets to CLI11, and neither do positional
// arguments: it would take "[a,b]" apart and "++" for a mark, but a key may be any bytes.
class VerbParser {
 public:
  VerbParser(const std::string& verb, const std::string& description, const std::string& synopsis,
             const char* examples, std::string* store_dir)
      : app_(description, "wqctl " + verb), store_dir_(store_dir) {
    app_.allow_extras();
    app_.formatter(
        std::make_shared<Formatter>("wqctl [--store DIR] " + verb + " [OPTIONS]" + synopsis));
    app_.footer(examples);
    app_.add_option("--store", *store_dir, "The store's directory")->type_name("DIR");
  }

  CLI::App* app() { return &app_; }
  const Words& positionals() const { return positionals_; }  // Those before "--".

  void Parse(Words words) {
    std::reverse(words.begin(), words.end());  // As CLI11 wants them.
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      throw Help{app_.help()};
    }
    positionals_ = app_.remaining();
    for (const std::string& word : positionals_) {
      if (word.size() > 1 && word.front() == '-') Usage("unknown option \"" + word + "\"");
    }
    if (store_dir_->empty()) Usage("which store? Give --store DIR or set WQ_STORE");
  }

 private:
  CLI::App app_;
  std::string* const store_dir_;
  Words positionals_;
};

// What all verbs start from.
struct Input {
  std::string store_dir;        // Of --store before the verb, or of the environment.
  Words words;                  // After the verb, before "--".
  std::optional<Words> behind;  // Behind "--".
};

void NoMore(const Words& words) {
  if (!words.empty()) Usage("unexpected argument \"" + words.front() + "\"");
}

Words Concatenate(Words first, const std::optional<Words>& second) {
  if (second) first.insert(first.end(), second->begin(), second->end());
  return first;
}

Command ParseInit(const Input& input) {
  InitArgs args{.store_dir = input.store_dir};
  VerbParser parser("init", "Makes a new, empty store.", "", kInitExamples, &args.store_dir);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return args;
}

Command ParseAdd(const Input& input) {
  AddArgs args;
  args.store_dir = input.store_dir;
  bool null_separated = false;
  VerbParser parser("add", "Enqueues keys. The queue is made if it is missing.", " KEY...|-",
                    kAddExamples, &args.store_dir);
  CLI::App* app = parser.app();
  app->add_option("-q,--queue", args.queue, "The queue")->type_name("NAME")->required();
  AddParsed<wq::Lane>(app, "--lane", &args.lane, ParseNamedLane, "a lane: fast or slow",
                      "fast|slow",
                      "The lane to put the keys in; default: the lane a key has, else fast");
  AddDuration(app, "--after", &args.after, "Make the keys pending after this time");
  AddParsed<wq::Durability>(
      app, "--durability", &args.durability, ParseDurability,
      "a durability: async, process or power", "async|process|power",
      "What added keys survive: process (default) kill -9, power a power cut");
  app->add_flag("-0,--null", null_separated, "Read NUL-separated keys from standard input");
  AddParsed<Format>(app, "-o,--output", &args.format, ParseFormat<Format::kText, Format::kJson>,
                    "an output format: text or json", "text|json", "Output format");
  parser.Parse(input.words);

  args.keys = parser.positionals();
  const auto dashes = std::erase(args.keys, "-");
  if (dashes > 1) Usage("standard input can be read only once");
  args.from_stdin = null_separated || dashes == 1;
  args.delimiter = null_separated ? '\0' : '\n';
  args.keys = Concatenate(std::move(args.keys), input.behind);
  if (args.keys.empty() && !args.from_stdin) Usage("which keys? Give KEY... or \"-\"");
  return args;
}

Command ParseWork(const Input& input) {
  WorkArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser("work", "Runs a command for each key of a queue.", " -- CMD [ARG...]",
                    kWorkExamples, &args.store_dir);
  CLI::App* app = parser.app();
  app->add_option("-q,--queue", args.queue, "The queue")->type_name("NAME")->required();
  app->add_option("-j,--workers", args.workers, "How many commands run at once; default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  AddParsed<uint64_t>(app, "--max-requeues", &args.max_requeues, ParseCount, "a number", "N",
                      "Give a key up when it has failed more often than this; default: never");
  AddDuration(app, "--base-delay", &args.base_delay,
              "The delay after the first failure; it doubles with each further one; default 5ms");
  AddDuration(app, "--max-delay", &args.max_delay, "The longest delay; default 1000s");
  AddDuration(app, "--timeout", &args.timeout,
              "Kill a command that runs longer; it counts as failed; default: never");
  AddDuration(app, "--grace", &args.grace,
              "How long running commands may go on after SIGTERM or SIGINT; default 30s");
  app->add_flag("--follow", args.follow, "Keep waiting when nothing is left");
  parser.Parse(input.words);

  NoMore(parser.positionals());
  if (!input.behind || input.behind->empty()) Usage("which command? Give it behind \"--\"");
  args.command = *input.behind;
  return args;
}

Command ParseInspect(const Input& input) {
  InspectArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser("inspect", "Shows the queues, or all that is known of one key.", " [KEY]",
                    kInspectExamples, &args.store_dir);
  CLI::App* app = parser.app();
  app->add_option("-q,--queue", args.queue, "Only this queue")->type_name("NAME");
  AddParsed<Format>(app, "-o,--output", &args.format, ParseFormat<Format::kTable, Format::kJson>,
                    "an output format: table or json", "table|json", "Output format");
  parser.Parse(input.words);
  Words keys = Concatenate(parser.positionals(), input.behind);
  if (keys.size() > 1) Usage("only one key can be inspected at a time");
  if (!keys.empty()) args.key = std::move(keys.front());
  return args;
}

Command ParseDump(const Input& input) {
  DumpArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser("dump", "Prints every entry, in the order in which keys are handed out.", "",
                    kDumpExamples, &args.store_dir);
  CLI::App* app = parser.app();
  app->add_option("-q,--queue", args.queue, "Only this queue")->type_name("NAME");
  AddParsed<Format>(app, "-o,--output", &args.format,
                    ParseFormat<Format::kJsonl, Format::kJson, Format::kTable>,
                    "an output format: jsonl, json or table", "jsonl|json|table", "Output format");
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return args;
}

Command ParseVerb(const std::string& verb, const Input& input) {
  constexpr std::pair<std::string_view, Command (*)(const Input&)> kParsers[] = {
      {"init", ParseInit},
      {"add", ParseAdd},
      {"work", ParseWork},
      {"inspect", ParseInspect},
      {"dump", ParseDump}};
  for (const auto& [name, parse] : kParsers) {
    if (name == verb) return parse(input);
  }
  Usage("unknown verb \"" + verb + "\"; the verbs are init, add, work, inspect, dump");
}

}  // namespace

std::variant<Command, int> ParseCommandLine(const Words& words) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  Input input;
  if (const char* dir = std::getenv("WQ_STORE")) input.store_dir = dir;
  if (mark != words.end()) input.behind.emplace(mark + 1, words.end());

  CLI::App root("wqctl: durable work queues from the shell.", "wqctl");
  root.formatter(std::make_shared<Formatter>("wqctl [--store DIR] VERB [OPTIONS]..."));
  root.footer(kVerbs);
  root.prefix_command();  // The verb and what follows it is left over.
  root.add_option("--store", input.store_dir, "The store's directory")->type_name("DIR");
  root.set_version_flag("--version", "wqctl " WQ_VERSION);
  Output out;
  try {
    root.parse(Words(std::make_reverse_iterator(mark), std::make_reverse_iterator(words.begin())));
    const Words left = root.remaining();
    if (left.empty()) Usage("which verb? One of init, add, work, inspect, dump");
    if (left.front().starts_with('-')) Usage("unknown option \"" + left.front() + "\"");
    input.words.assign(left.begin() + 1, left.end());
    return ParseVerb(left.front(), input);
  } catch (const Help& help) {
    out.Write(help.text);
    return out.Finish(kExitOk);
  } catch (const CLI::CallForHelp&) {
    out.Write(root.help());
    return out.Finish(kExitOk);
  } catch (const CLI::CallForVersion& version) {
    out.Write(std::string(version.what()) + "\n");
    return out.Finish(kExitOk);
  } catch (const CLI::ParseError& error) {
    LogError(wq::EscapeKey(error.what(), 1024));
    LogError("wqctl --help and wqctl VERB --help tell more");
    return kExitUsage;
  }
}

}  // namespace wqctl

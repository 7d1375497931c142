// The command lines of init, add and work.
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/verbs/verbs.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr const char* kInitExamples = R"(Examples:
  wqctl --store /var/lib/pods init
  WQ_STORE=/var/lib/pods wqctl init)";

constexpr const char* kAddExamples =
    R"(KEY may be "-": keys are then read from standard input, one a line.
Behind "--" every word is a key, also one that begins with "-".
A key in quarantine stays there: see wqctl quarantine.

Examples:
  wqctl add -q pods default/web-1 default/web-2
  find . -type f -print0 | wqctl add -q files -0
  wqctl add -q pods --lane slow --after 1h30m default/web-1
  wqctl add -q pods --priority 10 --group default default/web-1
  wqctl add -q pods -- -strange-key)";

constexpr const char* kWorkExamples =
    R"(CMD runs once for each key, without a shell. "{}" in its words becomes the key;
if there is none, the key is appended. Exit status 0 of CMD is success; anything
else is a failure, and the key is tried again after a delay that doubles each time.
Ends when nothing is pending or delayed, or the queue is paused. SIGTERM and SIGINT
end it early: no new key is begun, running commands get --grace to finish, the rest
stays in the store. With --follow, the verbs that change a queue work meanwhile.

Examples:
  wqctl work -q files -j 4 -- sha256sum {}
  wqctl work -q pods --max-requeues 5 --timeout 30s -- ./reconcile
  wqctl work -q files -- sh -c 'gzip -k "$1"' _ {})";

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<int> ParseWorkers(std::string_view text) {
  const std::optional<int> workers = ParseNumber<int>(text);
  return workers && *workers >= 1 && *workers <= 1024 ? workers : std::nullopt;
}

// An empty one would mean no group: more likely it is a variable that is not set.
std::optional<std::string> ParseGroup(std::string_view text) {
  if (text.empty() || text.size() > wq::kMaxGroupBytes) return std::nullopt;
  return std::string(text);
}

std::optional<wq::Durability> ParseDurability(std::string_view text) {
  if (text == "async") return wq::Durability::kAsync;
  if (text == "process") return wq::Durability::kProcess;
  if (text == "power") return wq::Durability::kPower;
  return std::nullopt;
}

void AddPlaceOptions(VerbParser* parser, AddArgs* args) {
  AddParsed(parser, "--lane", "fast|slow|N",
            "The lane to put the keys in; default: the lane a key has, else fast",
            "a lane: fast, slow or a 32-bit integer", wq::ParseLane, &args->lane);
  AddParsed(parser, "--priority", "N",
            "The same as a number: higher is first; fast is 0, slow -100", "a 32-bit integer",
            ParseNumber<wq::Lane>, &args->lane);
  parser->Exclude("--lane", "--priority");
  AddParsed(parser, "--group", "GROUP", "The group of those keys that the queue does not know yet",
            "a group: 1 to " + std::to_string(wq::kMaxGroupBytes) + " bytes", ParseGroup,
            &args->group);
}

}  // namespace

Command ParseInit(const Input& input) {
  InitArgs args{.store_dir = input.store_dir};
  VerbParser parser({"init", "Makes a new, empty store.", "", kInitExamples}, &args.store_dir);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return args;
}

Command ParseAdd(const Input& input) {
  AddArgs args;
  args.store_dir = input.store_dir;
  bool null_separated = false;
  VerbParser parser(
      {"add", "Enqueues keys. The queue is made if it is missing.", " KEY...|-", kAddExamples},
      &args.store_dir);
  AddQueue(&parser, &args.queue);
  AddPlaceOptions(&parser, &args);
  AddDuration(&parser, "--after", "Make the keys pending after this time", &args.after);
  AddParsed(&parser, "--durability", "async|process|power",
            "What added keys survive: process (default) kill -9, power a power cut",
            "a durability: async, process or power", ParseDurability, &args.durability);
  parser.Flag("-0,--null", "Read NUL-separated keys from standard input", &null_separated);
  AddTextFormat(&parser, &args.format);
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
  args.command_umask = input.user_umask;
  VerbParser parser(
      {"work", "Runs a command for each key of a queue.", " -- CMD [ARG...]", kWorkExamples},
      &args.store_dir);
  AddQueue(&parser, &args.queue);
  AddParsed(&parser, "-j,--workers", "N", "How many commands run at once; default 1",
            "a number from 1 to 1024", ParseWorkers, &args.workers);
  AddParsed(&parser, "--max-requeues", "N",
            "Quarantine a key when it has failed more often than this; default: never", "a number",
            ParseNumber<uint64_t>, &args.max_requeues);
  AddDuration(&parser, "--base-delay",
              "The delay after the first failure; it doubles with each further one; default 5ms",
              &args.base_delay);
  AddDuration(&parser, "--max-delay", "The longest delay; default 1000s", &args.max_delay);
  AddDuration(&parser, "--timeout",
              "Kill a command that runs longer; it counts as failed; default: never",
              &args.timeout);
  AddDuration(&parser, "--grace",
              "How long running commands may go on after SIGTERM or SIGINT; default 30s",
              &args.grace);
  parser.Option("--http", "HOST:PORT",
                "Serve /metrics, /healthz and /readyz on loopback; port 0: any", "an address",
                [&args](const std::string& address) {
                  args.http_address = address;
                  return !address.empty();
                });
  parser.Flag("--follow", "Keep waiting when nothing is left, or while the queue is paused",
              &args.follow);
  parser.Parse(input.words);

  NoMore(parser.positionals());
  if (!input.behind || input.behind->empty()) Usage("which command? Give it behind \"--\"");
  args.command = *input.behind;
  return args;
}

}  // namespace wqctl

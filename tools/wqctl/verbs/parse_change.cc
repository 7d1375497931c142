// The command lines of the verbs that ask before: rm, cancel-delay, forget, quarantine release and
// drop, pause and resume.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/verbs/verbs.h"
#include "tools/wqctl/verbs/key_change.h"

namespace wqctl {
namespace {

constexpr const char* kAboutAsking = R"(

Asks before, on a terminal; elsewhere --yes is needed. --dry-run only shows what
would be done, also beside a living owner.)";

constexpr const char* kRmExamples =
    R"(Delays and failures of the keys stay: see cancel-delay and forget.

Examples:
  wqctl rm -q pods default/web-1
  wqctl rm -q pods --prefix old/ --dry-run
  wqctl ls -q pods --state pending --prefix old/ -o name -0 |
    xargs -0 wqctl rm -q pods --yes --)";

constexpr const char* kCancelDelayExamples = R"(Examples:
  wqctl cancel-delay -q pods default/web-1
  wqctl cancel-delay -q pods --all --dry-run)";

constexpr const char* kRequeueExamples = R"(Examples:
  wqctl requeue -q pods default/web-1
  wqctl requeue -q pods --all --dry-run)";

constexpr const char* kForgetExamples =
    R"(Keys in quarantine are left alone: see wqctl quarantine.

Examples:
  wqctl forget -q pods default/web-1
  wqctl forget -q pods --all --yes)";

constexpr const char* kReleaseExamples =
    R"(The keys become pending, in the lanes where they were.

Examples:
  wqctl quarantine release -q pods default/web-1
  wqctl quarantine release -q pods --all --yes)";

constexpr const char* kDropExamples = R"(Examples:
  wqctl quarantine drop -q pods default/web-1
  wqctl quarantine drop -q pods --all --dry-run)";

constexpr const char* kPauseExamples =
    R"(Keys can be added meanwhile. The pause is kept over restarts.

Examples:
  wqctl pause -q pods
  wqctl pause -q pods --for 2h --yes)";

constexpr const char* kResumeExamples = R"(Examples:
  wqctl resume -q pods
  wqctl resume -q pods --yes)";

void AddChangeOptions(VerbParser* parser, ChangeArgs* args) {
  AddQueue(parser, &args->queue);
  parser->Flag("--yes", "Do not ask", &args->yes);
  parser->Flag("--dry-run", "Show what would be done, and do nothing", &args->dry_run);
}

Words EachOnce(Words keys) {
  std::unordered_set<std::string> seen;
  std::erase_if(keys, [&seen](const std::string& key) { return !seen.insert(key).second; });
  return keys;
}

Command ParseKeyChange(const Input& input, wq::KeyChange change, VerbParser::Verb verb) {
  KeyChangeArgs args;
  args.store_dir = input.store_dir;
  args.change = change;
  verb.examples += kAboutAsking;
  verb.synopsis = " KEY...|FILTER...|--all";
  bool all = false;
  FilterWords filter_words;
  VerbParser parser(verb, &args.store_dir);
  AddChangeOptions(&parser, &args);
  parser.Flag("--all", "Every key of the queue that the change is for", &all);
  AddFilterOptions(&parser, &args.filter, &filter_words);
  AddTextFormat(&parser, &args.format);
  parser.Parse(input.words);
  FinishFilter(filter_words, &args.filter);

  const Words& words = parser.positionals();
  if (std::find(words.begin(), words.end(), "-") != words.end()) {
    Usage("keys are not read from standard input here; a key \"-\" goes behind \"--\"");
  }
  args.keys = EachOnce(Concatenate(words, input.behind));
  args.hex = filter_words.hex;
  if (args.hex) {
    for (std::string& key : args.keys) key = KeyOfHex(key);
  }
  const bool filtered = !args.filter.SelectsAll();
  if ((all || filtered) && !args.keys.empty()) Usage("give KEY..., or a filter or --all, not both");
  if (!all && !filtered && args.keys.empty()) {
    Usage("which keys? Give KEY..., a filter, or --all");
  }
  return args;
}

}  // namespace

Command ParseRm(const Input& input) {
  return ParseKeyChange(input, wq::KeyChange::kRemove,
                        {"rm", "Takes pending keys back.", "", kRmExamples});
}

Command ParseCancelDelay(const Input& input) {
  return ParseKeyChange(
      input, wq::KeyChange::kCancelDelay,
      {"cancel-delay", "Takes the delays of keys back.", "", kCancelDelayExamples});
}

Command ParseRequeue(const Input& input) {
  return ParseKeyChange(
      input, wq::KeyChange::kRequeue,
      {"requeue", "Makes delayed keys pending now; their failures stay.", "", kRequeueExamples});
}

Command ParseForget(const Input& input) {
  return ParseKeyChange(input, wq::KeyChange::kForget,
                        {"forget", "Clears the failures of keys.", "", kForgetExamples});
}

Command ParseQuarantineRelease(const Input& input) {
  return ParseKeyChange(
      input, wq::KeyChange::kRelease,
      {"quarantine release", "Adds keys in quarantine again, their failures forgotten.", "",
       kReleaseExamples});
}

Command ParseQuarantineDrop(const Input& input) {
  return ParseKeyChange(
      input, wq::KeyChange::kDrop,
      {"quarantine drop", "Forgets keys in quarantine altogether.", "", kDropExamples});
}

Command ParsePause(const Input& input) {
  PauseArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser(
      {"pause", "Lets a queue hand out nothing.", "", std::string(kPauseExamples) + kAboutAsking},
      &args.store_dir);
  AddChangeOptions(&parser, &args);
  AddDuration(&parser, "--for", "End the pause after this time; default: until resume",
              &args.duration);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  if (args.duration && args.duration->count() == 0) Usage("--for must be more than 0");
  return args;
}

Command ParseResume(const Input& input) {
  ResumeArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser(
      {"resume", "Ends the pause of a queue.", "", std::string(kResumeExamples) + kAboutAsking},
      &args.store_dir);
  AddChangeOptions(&parser, &args);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return args;
}

}  // namespace wqctl

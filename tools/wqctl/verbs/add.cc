// wqctl add: enqueues the keys of the command line, of stdin, or both.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutant.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/verbs/key_reader.h"
#include "tools/wqctl/verbs/reach.h"
#include "wq/keys.h"
#include "wq/queue_access.h"

namespace wqctl {
namespace {

constexpr size_t kKeysPerBatch = 1000;

constexpr const char* kAddExamples =
    R"(KEY may be "-": keys are then read from standard input, one a line.
Behind "--" every word is a key, even if it begins with "-".
A key in quarantine stays there: see wqctl release.

Examples:
  wqctl add -q pods default/web-1 default/web-2
  find . -type f -print0 | wqctl add -q files -0
  wqctl add -q pods --lane slow --after 1h30m default/web-1
  wqctl add -q pods --priority 10 --group default default/web-1
  wqctl add -q pods --reason 'node drained' --traceparent "$TRACEPARENT" default/web-1
  wqctl add -q pods --debounce 5s --max-wait 1m default/web-1
  wqctl add -q pods -- -strange-key)";

struct AddArgs {
  std::string store_dir;
  std::string queue;
  std::vector<std::string> keys;
  bool from_stdin = false;
  char delimiter = '\n';
  bool hex = false;  // Keys of stdin are in hexadecimal; those of `keys` are bytes already.
  std::optional<wq::Lane> lane;
  std::optional<std::string> group;
  std::string reason;
  std::string trace_parent;
  std::optional<std::chrono::microseconds> after;
  std::optional<wq::DelayMode> delay_mode;
  std::optional<std::chrono::microseconds> debounce;
  std::optional<std::chrono::microseconds> max_wait;
  wq::Durability durability = wq::Durability::kProcess;
  Format format = Format::kText;
};

// Adds keys to the queue and counts the outcomes.
class Adder {
 public:
  // `own`: this process owns the store.
  Adder(const AddArgs& args, size_t max_key_bytes, wq::QueueAccess* queue, bool own)
      : max_key_bytes_(max_key_bytes),
        own_(own),
        options_{.lane = args.lane,
                 .durability = args.durability,
                 .group = args.group,
                 .delay_mode = args.delay_mode.value_or(wq::DelayMode::kEarliest),
                 .reason = args.reason,
                 .trace_parent = args.trace_parent},
        delay_(args.after.value_or(std::chrono::microseconds(0))),
        queue_(queue) {
    if (args.debounce) options_.debounce = wq::Debounce{*args.debounce, *args.max_wait};
  }

  // Reports a refused key on stderr, by `where` and its number. Stops at an error of the store.
  wq::Status Add(std::string_view where, std::span<const KeyReader::Line> lines) {
    while (!lines.empty()) {
      const auto chunk = lines.first(std::min(lines.size(), kKeysPerBatch));
      lines = lines.subspan(chunk.size());
      if (wq::Status s = AddChunk(where, chunk); !s.ok()) return s;
    }
    return wq::Status::Ok();
  }

  // The same of keys in hexadecimal.
  wq::Status AddHex(std::string_view where, std::span<const KeyReader::Line> lines) {
    std::vector<std::string> keys;
    std::vector<KeyReader::Line> decoded;
    keys.reserve(lines.size());
    for (const KeyReader::Line& line : lines) {
      std::optional<std::string> key = FromHex(line.text);
      if (line.bytes > line.text.size()) {  // It was cut.
        decoded.push_back({line.number, line.text, (line.bytes + 1) / 2});
      } else if (!key) {
        Refuse(where, line, "\"" + wq::EscapeKey(line.text, 40) + "\" is not hexadecimal");
      } else {
        keys.push_back(*std::move(key));
        decoded.push_back({line.number, keys.back(), keys.back().size()});
      }
    }
    return Add(where, decoded);
  }

  uint64_t refused() const { return refused_; }
  Outcome outcome() const {
    return {{{"added", added_},
             {"deduplicated", deduplicated_},
             {"held", held_, false},
             {"refused", refused_, false}}};
  }

 private:
  wq::Status AddChunk(std::string_view where, std::span<const KeyReader::Line> lines) {
    taken_.clear();
    keys_.clear();
    for (const KeyReader::Line& line : lines) {
      if (line.bytes > max_key_bytes_) {
        Refuse(where, line,
               "the key has " + std::to_string(line.bytes) + " bytes, more than the limit of " +
                   std::to_string(max_key_bytes_) + ": \"" + wq::EscapeKey(line.text, 40) + "\"");
      } else {
        taken_.push_back(&line);
        keys_.push_back(line.text);
      }
    }
    wq::BatchResult result;
    wq::Status s = queue_->Add(keys_, options_, delay_, &result);
    // What a call on a failed store has applied is in the owner's memory, which ends with it.
    if (s.ok() || !own_) {
      added_ += result.added;
      deduplicated_ += result.deduplicated;
      held_ += result.held;
    }
    for (const auto& [index, why] : result.refused) Refuse(where, *taken_[index], why.message());
    return s;
  }

  void Refuse(std::string_view where, const KeyReader::Line& line, const std::string& why) {
    ++refused_;
    LogError(std::string(where) + " " + std::to_string(line.number) + ": " + why);
  }

  const size_t max_key_bytes_;
  const bool own_;
  wq::AddOptions options_;  // Of the arguments, which it borrows.
  const std::chrono::microseconds delay_;
  wq::QueueAccess* const queue_;
  uint64_t added_ = 0;
  uint64_t deduplicated_ = 0;
  uint64_t held_ = 0;
  uint64_t refused_ = 0;
  std::vector<const KeyReader::Line*> taken_;  // The lines of keys_.
  std::vector<std::string_view> keys_;         // Of the current chunk.
};

int AddFromArguments(const std::vector<std::string>& keys, Adder* adder) {
  std::vector<KeyReader::Line> lines;
  lines.reserve(keys.size());
  for (const std::string& key : keys) lines.push_back({lines.size() + 1, key, key.size()});
  const wq::Status s = adder->Add("key", lines);
  return s.ok() ? kExitOk : Fail(s);
}

int AddFromStdin(const AddArgs& args, size_t max_key_bytes, Adder* adder) {
  ProgressLine progress({.name = "add", .unit = "keys"});
  KeyReader reader(STDIN_FILENO, args.delimiter, args.hex ? 2 * max_key_bytes : max_key_bytes);
  const std::string_view where = args.delimiter == '\0' ? "record" : "line";
  while (reader.ReadMore()) {
    wq::Status s =
        args.hex ? adder->AddHex(where, reader.lines()) : adder->Add(where, reader.lines());
    if (!s.ok()) return Fail(s);
    progress.Add(reader.lines().size());
    progress.Read(reader.bytes_read(), reader.bytes_in_file());
  }
  if (reader.error() == 0) return kExitOk;
  LogError("cannot read standard input: " + ErrnoText(reader.error()));
  return kExitFailure;
}

int Run(const AddArgs& args) {
  ReachedQueue reached;
  if (wq::Status s = ReachQueue(args.store_dir, args.queue, {.create = true}, &reached); !s.ok()) {
    return Fail(s);
  }
  const size_t max_key_bytes = wq::QueueOptions().max_key_bytes;
  Adder adder(args, max_key_bytes, reached.access.get(), reached.store != nullptr);
  int code = AddFromArguments(args.keys, &adder);
  if (code == kExitOk && args.from_stdin) {
    code = AddFromStdin(args, max_key_bytes, &adder);
  }
  if (wq::Status s = reached.access->Flush(args.durability); code == kExitOk && !s.ok()) {
    code = Fail(s);
  }
  // Acknowledged keys stay acknowledged even if closing fails; the error is still reported.
  if (wq::Status s = reached.Close(); code == kExitOk && !s.ok()) code = Fail(s);
  if (code == kExitOk && adder.refused() > 0 && !WQ_MUTANT(refused_key_is_success)) {
    code = kExitFailure;
  }
  Output out;
  out.Write(OutcomeText(adder.outcome(), args.format));
  return out.Finish(code);
}

// An empty group would mean no group: more likely a shell variable is not set.
std::optional<std::string> ParseGroup(std::string_view text) {
  if (text.empty() || text.size() > wq::kMaxGroupBytes) return std::nullopt;
  return std::string(text);
}

// The options that say when the keys become pending.
void AddTimes(VerbParser* parser, AddArgs* args) {
  AddDuration(parser, "--after", "Make the keys pending after this time", &args->after);
  AddChoice<wq::DelayMode>(parser, "--delay-mode",
                           "With --after: which end counts for a key that is delayed already; "
                           "earliest is the default; resync: the delay is a resync",
                           "a delay mode: ",
                           {{"earliest", wq::DelayMode::kEarliest},
                            {"replace", wq::DelayMode::kReplace},
                            {"resync", wq::DelayMode::kResync}},
                           &args->delay_mode);
  AddDuration(parser, "--debounce", "Make a key pending when it was not added for this time",
              &args->debounce);
  AddDuration(parser, "--max-wait",
              "With --debounce: make it pending this time after its first add in any case",
              &args->max_wait);
  parser->Exclude("--after", "--debounce");
}

void CheckTimes(const AddArgs& args) {
  if (args.debounce.has_value() != args.max_wait.has_value()) {
    Usage("--debounce and --max-wait need each other");
  }
  if (args.delay_mode && !args.after) Usage("--delay-mode needs --after");
  if (args.debounce && *args.debounce > *args.max_wait) {
    Usage("--max-wait is shorter than --debounce");
  }
}

}  // namespace

std::optional<std::string> ParseReason(std::string_view text) {
  return text.empty() || !wq::CheckCause(text, {}).ok() ? std::nullopt
                                                        : std::optional<std::string>(text);
}

std::optional<std::string> ParseTraceParent(std::string_view text) {
  return text.empty() || !wq::CheckCause({}, text).ok() ? std::nullopt
                                                        : std::optional<std::string>(text);
}

Command ParseAdd(const Input& input) {
  AddArgs args;
  bool null_separated = false;
  VerbParser parser(
      input, {"Enqueues keys. The queue is made if it is missing.", " KEY...|-", kAddExamples},
      &args.store_dir);
  AddQueue(&parser, &args.queue);
  AddLane(&parser, "The lane to put the keys in; default: the lane a key has, else fast",
          &args.lane);
  AddParsed(&parser, "--priority", "N",
            "The same as a number: higher is first; fast is 0, slow -100", "a 32-bit integer",
            ParseNumber<wq::Lane>, &args.lane);
  parser.Exclude("--lane", "--priority");
  AddParsed(&parser, "--group", "GROUP", "The group of keys that are new to the queue",
            "a group: 1 to " + std::to_string(wq::kMaxGroupBytes) + " bytes", ParseGroup,
            &args.group);
  AddParsed(&parser, "--reason", "TEXT", "Why the keys need work; their worker is told",
            "a reason: 1 to " + std::to_string(wq::kMaxReasonBytes) +
                " bytes of UTF-8 without control characters",
            ParseReason, &args.reason);
  AddParsed(&parser, "--traceparent", "TRACE", "The trace context of the Add, for the worker",
            "a traceparent: 00-, 32 hexadecimal digits, -, 16 of them, -, 2 of them",
            ParseTraceParent, &args.trace_parent);
  AddTimes(&parser, &args);
  AddChoice<wq::Durability>(&parser, "--durability",
                            "What added keys survive: process (default) kill -9, power a power "
                            "cut, replicated the loss of this machine",
                            "a durability: ", DurabilityWords(), &args.durability);
  parser.Flag("-0,--null", "Read NUL-separated keys from standard input", &null_separated);
  parser.Flag("--hex", "Keys in hexadecimal", &args.hex);
  AddFormat(&parser, kOutcomeFormats, &args.format);
  args.keys = parser.Parse();
  CheckTimes(args);

  // Behind "--", "-" is a key.
  const auto behind = args.keys.begin() + static_cast<ptrdiff_t>(parser.positionals().size());
  const auto dash = std::remove(args.keys.begin(), behind, "-");
  const auto dashes = behind - dash;
  args.keys.erase(dash, behind);
  if (dashes > 1) Usage("standard input can be read only once");
  args.from_stdin = null_separated || dashes == 1;
  args.delimiter = null_separated ? '\0' : '\n';
  if (args.keys.empty() && !args.from_stdin) Usage("which keys? Give KEY... or \"-\"");
  if (args.from_stdin) RequireStdin();
  if (args.hex) {
    for (std::string& key : args.keys) key = KeyOfHex(key);
  }
  return args;
}

}  // namespace wqctl

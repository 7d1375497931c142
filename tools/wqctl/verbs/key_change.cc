// wqctl rm, delete, cancel-delay, requeue, forget, release, drop: one change,
// made to each of some keys.
#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/rate.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/verbs/confirm.h"
#include "tools/wqctl/verbs/reach.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/queue_access.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

using State = wq::EntryState;

// A question names at most so many keys.
constexpr size_t kKeysInQuestion = 5;
// Progress is shown between two batches.
constexpr size_t kKeysPerChange = 10'000;

constexpr wq::EntryStates StatesOf(std::initializer_list<State> list) {
  wq::EntryStates states;
  for (const State state : list) states.Add(state);
  return states;
}

// A verb, the change that it makes, and the words about it.
struct ChangeVerb {
  std::string_view name;
  wq::KeyChange change;
  wq::EntryStates states;   // Entries that the change applies to; see AppliesTo.
  std::string_view would;   // "would remove".
  std::string_view done;    // "removed 3".
  std::string_view absent;  // Said of a key that the change does not apply to.
  std::string_view object;  // Of the question: "Remove 3 <object>".
  const char* description;
  const char* examples;
};

constexpr std::array kChangeVerbs = {
    ChangeVerb{"rm", wq::KeyChange::kRemove, StatesOf({State::kPending, State::kDelayed}), "remove",
               "removed", "not pending", "pending keys", "Removes pending keys.",
               R"(Delays and failures of the keys stay: see delete, cancel-delay and forget.

Examples:
  wqctl rm -q pods default/web-1
  wqctl rm -q pods --prefix old/ --dry-run
  wqctl ls -q pods --state pending --prefix old/ -o name -0 |
    xargs -0 wqctl rm -q pods --yes --)"},
    ChangeVerb{
        "delete", wq::KeyChange::kDelete,
        StatesOf({State::kPending, State::kDelayed, State::kFailing, State::kQuarantined}),
        "delete", "deleted", "unknown", "keys",
        "Deletes keys in whatever state they are, with their failures.",
        R"(A worker that holds a key keeps it until it is done; until then a crash makes the key
pending again. For a whole queue see wqctl queue delete.

Examples:
  wqctl delete -q pods default/web-1
  wqctl delete -q pods --prefix old/ --dry-run)"},
    ChangeVerb{"cancel-delay", wq::KeyChange::kCancelDelay, StatesOf({State::kDelayed}),
               "cancel the delay of", "cancelled", "not delayed", "delayed keys",
               "Cancels the delays of keys.",
               R"(Examples:
  wqctl cancel-delay -q pods default/web-1
  wqctl cancel-delay -q pods --all --dry-run)"},
    ChangeVerb{"requeue", wq::KeyChange::kRequeue, StatesOf({State::kDelayed}), "requeue",
               "requeued", "not delayed", "delayed keys",
               "Makes delayed keys pending now; their failures stay.",
               R"(Examples:
  wqctl requeue -q pods default/web-1
  wqctl requeue -q pods --all --dry-run)"},
    ChangeVerb{"forget", wq::KeyChange::kForget,
               StatesOf({State::kPending, State::kDelayed, State::kFailing}),
               "forget the failures of", "forgotten", "not failing", "failing keys",
               "Clears the failures of keys.",
               R"(Keys in quarantine are not changed: see wqctl release.

Examples:
  wqctl forget -q pods default/web-1
  wqctl forget -q pods --all --yes)"},
    ChangeVerb{
        "release", wq::KeyChange::kRelease, StatesOf({State::kQuarantined}), "release", "released",
        "not in quarantine", "keys in quarantine",
        "Makes keys in quarantine pending again, with their failures forgotten.",
        R"(The keys become pending, in their former lanes. With --rate one after the other: until
its turn a key is delayed, and stays so when its owner restarts.

Examples:
  wqctl release -q pods default/web-1
  wqctl release -q pods --all --rate 10/s --yes)"},
    ChangeVerb{"drop", wq::KeyChange::kDrop, StatesOf({State::kQuarantined}), "drop", "dropped",
               "not in quarantine", "keys in quarantine", "Removes keys in quarantine.",
               R"(Examples:
  wqctl drop -q pods default/web-1
  wqctl drop -q pods --all --dry-run)"},
};

struct KeyChangeArgs : ChangeArgs {
  const ChangeVerb* verb = nullptr;
  std::vector<std::string> keys;  // Each once. Empty: those that the filter selects.
  Filter filter;
  bool hex = false;  // Keys are shown in hexadecimal.
  Format format = Format::kText;
  std::optional<double> per_second;  // Of a release.
  std::string rate;                  // The same, as it was given.

  bool bulk() const { return keys.empty(); }
};

// Counts the outcomes, and prints them at the end.
class Report {
 public:
  explicit Report(const KeyChangeArgs& args) : args_(args), verb_(*args.verb) {}

  void Done(uint64_t keys) { done_ += keys; }
  void WouldDo(std::string_view key) {
    ++done_;
    if (args_.format != Format::kText) return;
    out_.Write("would " + std::string(verb_.would) + " \"" +
               (args_.hex ? ToHex(key) : wq::EscapeKey(key, key.size())) + "\"\n");
  }
  void Absent(std::string_view key) {
    ++absent_;
    LogError("key \"" + wq::EscapeKey(key) + "\" is " + std::string(verb_.absent) + " in queue \"" +
             wq::EscapeKey(args_.queue) + "\"");
  }

  bool any() const { return done_ > 0; }
  int Finish() {
    out_.Write(OutcomeText({{{std::string(verb_.done), done_}, {"not_found", absent_, false}},
                            args_.dry_run ? "to be " : "",
                            args_.dry_run},
                           args_.format));
    return out_.Finish(absent_ > 0 ? kExitNotFound : kExitOk);
  }

 private:
  const KeyChangeArgs& args_;
  const ChangeVerb& verb_;
  uint64_t done_ = 0;
  uint64_t absent_ = 0;
  Output out_;
};

bool AppliesTo(const ChangeVerb& verb, const wq::Entry& entry) {
  if (!verb.states.Has(entry.state)) return false;
  if (verb.change == wq::KeyChange::kForget) return entry.failures.has_value();
  if (entry.state != State::kDelayed || verb.change == wq::KeyChange::kDelete) return true;
  // A delayed key that is due counts as pending.
  const bool due = entry.ready_at_us <= wq::Clock::System()->WallUs();
  return due == (verb.change == wq::KeyChange::kRemove);
}

ProgressStep StepOf(const KeyChangeArgs& args, const char* what) {
  return {.name = std::string(args.verb->name) + ": " + what, .unit = "keys"};
}

// Visits the keys that the filter, or --all, selects.
wq::Status VisitSelected(const wq::StoreView& view, const KeyChangeArgs& args,
                         const std::function<void(const std::string&)>& take) {
  ProgressLine progress(StepOf(args, "selecting"));
  const auto visit = [&](const std::string& key) {
    progress.Add();
    take(key);
  };
  if (args.verb->change == wq::KeyChange::kForget && args.filter.SelectsAll()) {
    return view.ForEachFailing(args.queue, [&visit](const wq::FailingKey& failing) {
      visit(failing.key);
      return !Interrupted();
    });
  }
  Filter filter = args.filter;
  // The limit counts only keys that the change applies to.
  const uint64_t limit = std::exchange(filter.limit, std::nullopt).value_or(UINT64_MAX);
  if (limit == 0) return wq::Status::Ok();
  // Nothing else is scanned.
  if (filter.states == wq::EntryStates::All()) filter.states = args.verb->states;
  std::unordered_set<std::string> seen;  // A key may have several entries.
  return VisitMatching(view, {args.queue}, filter, wq::Clock::System()->WallUs(),
                       [&](const std::string&, const wq::Entry& entry) {
                         if (AppliesTo(*args.verb, entry) && seen.insert(entry.key).second) {
                           visit(entry.key);
                         }
                         return seen.size() < limit && !Interrupted();
                       });
}

wq::Status CheckKey(const wq::StoreView& view, const KeyChangeArgs& args, const std::string& key,
                    Report* report) {
  std::vector<wq::Entry> entries;
  wq::Status s = view.Find(args.queue, key, &entries);
  if (!s.ok() && s.code() != wq::StatusCode::kNotFound) return s;
  const bool found = std::any_of(entries.begin(), entries.end(), [&](const wq::Entry& entry) {
    return AppliesTo(*args.verb, entry);
  });
  if (found) {
    report->WouldDo(key);
  } else {
    report->Absent(key);
  }
  return wq::Status::Ok();
}

int ShowKeys(const KeyChangeArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return Fail(s);
  Report report(args);
  wq::Status s;
  if (args.bulk()) {
    s = VisitSelected(*view, args, [&report](const std::string& key) { report.WouldDo(key); });
  }
  for (size_t i = 0; i < args.keys.size() && s.ok() && !Interrupted(); ++i) {
    s = CheckKey(*view, args, args.keys[i], &report);
  }
  return s.ok() ? report.Finish() : Fail(s);
}

wq::Status Describe(const KeyChangeArgs& args, const wq::StoreView& view, std::string* text) {
  std::string queue = " of queue \"" + wq::EscapeKey(args.queue) + "\"";
  if (args.per_second) queue += " with --rate " + args.rate;
  *text = args.verb->would;
  if (args.bulk()) {
    uint64_t count = 0;
    if (wq::Status s = VisitSelected(view, args, [&count](const std::string&) { ++count; });
        !s.ok()) {
      return s;
    }
    const bool all = args.filter.SelectsAll();
    *text += (all ? " all " : " ") + std::to_string(count) + " " + std::string(args.verb->object) +
             queue + (all ? "" : " that match");
    return wq::Status::Ok();
  }
  for (size_t i = 0; i < std::min(args.keys.size(), kKeysInQuestion); ++i) {
    text->append(i == 0 ? " \"" : ", \"").append(wq::EscapeKey(args.keys[i], 64)).append("\"");
  }
  if (args.keys.size() > kKeysInQuestion) {
    *text += " and " + std::to_string(args.keys.size() - kKeysInQuestion) + " more";
  }
  *text += queue;
  return wq::Status::Ok();
}

// Returns the keys that the filter selects. The view reads the disk, so the owner (this process or
// another one) first writes all its changes.
wq::Status SelectedKeys(const KeyChangeArgs& args, wq::QueueAccess* queue,
                        std::vector<std::string>* keys) {
  const InterruptScope interrupts;
  if (wq::Status s = queue->Flush(wq::Durability::kProcess); !s.ok()) return s;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return s;
  return VisitSelected(*view, args, [keys](const std::string& key) { keys->push_back(key); });
}

wq::Status ChangeAll(const KeyChangeArgs& args, wq::QueueAccess* queue, Report* report) {
  std::vector<std::string> keys = args.keys;
  if (args.bulk()) {
    if (wq::Status s = SelectedKeys(args, queue, &keys); !s.ok()) return s;
  }
  ProgressStep step = StepOf(args, "changing");
  step.total = keys.size();
  ProgressLine progress(std::move(step));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const wq::ChangeOptions pace{.per_second = args.per_second.value_or(0)};
  uint64_t done = 0;
  // Waits once for the keys of each batch.
  for (size_t begin = 0; begin < views.size(); begin += kKeysPerChange) {
    const size_t count = std::min(kKeysPerChange, views.size() - begin);
    wq::ChangeOptions options = pace;
    options.delay = wq::ReleaseDelay(pace, done);
    wq::ChangeResult result;
    wq::Status s =
        queue->Change(args.verb->change, std::span(views).subspan(begin, count), options, &result);
    done += result.done;
    report->Done(result.done);
    // An absent key of a selection was changed by another process in between: not reported.
    for (const size_t index : result.absent) {
      if (!args.bulk()) report->Absent(keys[begin + index]);
    }
    if (!s.ok()) return s;
    progress.Add(count);
  }
  return wq::Status::Ok();
}

int Run(const KeyChangeArgs& args) {
  if (args.dry_run) return ShowKeys(args);
  const std::optional<int> end = Confirm(
      args,
      [&args](const wq::StoreView& view, std::string* text) { return Describe(args, view, text); });
  if (end) return *end;

  ReachedQueue reached;
  if (wq::Status s =
          ReachQueue(args.store_dir, args.queue, {.durability = wq::Durability::kAsync}, &reached);
      !s.ok()) {
    return Fail(s);
  }
  Report report(args);
  wq::Status s = ChangeAll(args, reached.access.get(), &report);
  if (wq::Status closed = reached.Close(); s.ok()) s = closed;
  if (!s.ok() && !report.any()) return Fail(s);
  const int code = report.Finish();  // What was changed before an error stays changed.
  return s.ok() ? code : Fail(s);
}

Words EachOnce(Words keys) {
  std::unordered_set<std::string> seen;
  std::erase_if(keys, [&seen](const std::string& key) { return !seen.insert(key).second; });
  return keys;
}

}  // namespace

Command ParseKeyChange(const Input& input) {
  KeyChangeArgs args;
  args.verb = std::find_if(kChangeVerbs.begin(), kChangeVerbs.end(),
                           [&input](const ChangeVerb& verb) { return verb.name == input.verb; });
  bool all = false;
  VerbParser parser(input,
                    {args.verb->description, " KEY...|FILTER...|--all",
                     std::string(args.verb->examples) + kAboutAsking},
                    &args.store_dir);
  AddChangeOptions(&parser, &args);
  parser.Flag("--all", "Every key of the queue that the change applies to", &all);
  AddFilterOptions(&parser, &args.filter, &args.hex);
  if (args.verb->change == wq::KeyChange::kRelease) {
    parser.Option("--rate", "N[/s|/m|/h]", "Release the keys one after the other",
                  kHandOutRateTexts, [&args](const std::string& text) {
                    args.rate = text;
                    args.per_second = ParseHandOutRate(text);
                    return args.per_second.has_value();
                  });
  }
  AddFormat(&parser, kOutcomeFormats, &args.format);
  args.keys = parser.Parse();

  const Words& words = parser.positionals();
  if (std::find(words.begin(), words.end(), "-") != words.end()) {
    Usage("keys are not read from standard input here; a key \"-\" goes behind \"--\"");
  }
  if (args.hex) {
    for (std::string& key : args.keys) key = KeyOfHex(key);
  }
  args.keys = EachOnce(std::move(args.keys));
  Filter selection = args.filter;
  if (!selection.limit) selection.sort_by.reset();  // Then an order selects nothing.
  const bool filtered = !selection.SelectsAll();
  if ((all || filtered) && !args.keys.empty()) Usage("give KEY..., or a filter or --all, not both");
  if (!all && !filtered && args.keys.empty()) {
    Usage("which keys? Give KEY..., a filter, or --all");
  }
  return args;
}

}  // namespace wqctl

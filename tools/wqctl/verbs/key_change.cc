// wqctl rm, cancel-delay, requeue, forget, quarantine release, quarantine drop: one change, made to
// each of some keys.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/confirm.h"
#include "tools/wqctl/verbs/key_change.h"
#include "tools/wqctl/verbs/reach.h"
#include "tools/wqctl/verbs/verbs.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/queue_access.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

// So many keys are named in a question.
constexpr size_t kKeysInQuestion = 5;

struct Wording {
  std::string_view would;   // "would remove".
  std::string_view done;    // "removed 3".
  std::string_view absent;  // What a key is that the change is not for.
  std::string_view object;  // Of the question: "Remove 3 <object>".
};

Wording WordingOf(wq::KeyChange change) {
  switch (change) {
    case wq::KeyChange::kRemove:
      return {"remove", "removed", "not pending", "pending keys"};
    case wq::KeyChange::kCancelDelay:
      return {"cancel the delay of", "cancelled", "not delayed", "delayed keys"};
    case wq::KeyChange::kRequeue:
      return {"requeue", "requeued", "not delayed", "delayed keys"};
    case wq::KeyChange::kForget:
      return {"forget the failures of", "forgotten", "not failing", "failing keys"};
    case wq::KeyChange::kRelease:
      return {"release", "released", "not in quarantine", "keys in quarantine"};
    case wq::KeyChange::kDrop:
      return {"drop", "dropped", "not in quarantine", "keys in quarantine"};
  }
  return {};
}

// Counts what became of the keys, and says so in the end.
class Report {
 public:
  explicit Report(const KeyChangeArgs& args) : args_(args), wording_(WordingOf(args.change)) {}

  void Done(uint64_t keys) { done_ += keys; }
  void WouldDo(std::string_view key) {
    ++done_;
    if (args_.format == Format::kJson) return;
    out_.Write("would " + std::string(wording_.would) + " \"" +
               (args_.hex ? ToHex(key) : wq::EscapeKey(key, key.size())) + "\"\n");
  }
  void Absent(std::string_view key) {
    ++absent_;
    LogError("key \"" + wq::EscapeKey(key) + "\" is " + std::string(wording_.absent) +
             " in queue \"" + wq::EscapeKey(args_.queue) + "\"");
  }

  int Finish() {
    if (args_.format == Format::kJson) {
      out_.Write(ChangeResultJson(wording_.done, done_, absent_, args_.dry_run));
    } else {
      std::string text = args_.dry_run ? "to be " : "";
      text.append(wording_.done).append(" ").append(std::to_string(done_));
      if (absent_ > 0) text += ", not found " + std::to_string(absent_);
      out_.Write(text + "\n");
    }
    return out_.Finish(absent_ > 0 ? kExitNotFound : kExitOk);
  }

 private:
  const KeyChangeArgs& args_;
  const Wording wording_;
  uint64_t done_ = 0;
  uint64_t absent_ = 0;
  Output out_;
};

// --- What the store says ---

bool IsFor(wq::KeyChange change, const wq::Entry& entry) {
  using State = wq::EntryState;
  const bool due = entry.state == State::kDelayed &&
                   entry.ready_at_us <= wq::Clock::System()->WallUs();  // As good as pending.
  switch (change) {
    case wq::KeyChange::kRemove:
      return entry.state == State::kPending || due;
    case wq::KeyChange::kCancelDelay:
    case wq::KeyChange::kRequeue:
      return entry.state == State::kDelayed && !due;
    case wq::KeyChange::kForget:
      return entry.state != State::kQuarantined && entry.failures.has_value();
    case wq::KeyChange::kRelease:
    case wq::KeyChange::kDrop:
      return entry.state == State::kQuarantined;
  }
  return false;
}

// The states of entries that the change may be for.
wq::EntryStates StatesOf(wq::KeyChange change) {
  using State = wq::EntryState;
  wq::EntryStates states;
  switch (change) {
    case wq::KeyChange::kRemove:
      states.Add(State::kPending);
      states.Add(State::kDelayed);  // Those that are due.
      break;
    case wq::KeyChange::kCancelDelay:
    case wq::KeyChange::kRequeue:
      states.Add(State::kDelayed);
      break;
    case wq::KeyChange::kForget:
      states.Add(State::kPending);
      states.Add(State::kDelayed);
      states.Add(State::kFailing);
      break;
    case wq::KeyChange::kRelease:
    case wq::KeyChange::kDrop:
      states.Add(State::kQuarantined);
      break;
  }
  return states;
}

// Visits the keys that the filter, or --all, stands for.
wq::Status VisitSelected(const wq::StoreView& view, const KeyChangeArgs& args,
                         const std::function<void(const std::string&)>& visit) {
  if (args.change == wq::KeyChange::kForget && args.filter.SelectsAll()) {
    return view.ForEachFailing(args.queue, [&visit](const wq::FailingKey& failing) {
      visit(failing.key);
      return !Interrupted();
    });
  }
  Filter filter = args.filter;
  // Only what the change is for counts.
  const uint64_t limit = std::exchange(filter.limit, std::nullopt).value_or(UINT64_MAX);
  if (limit == 0) return wq::Status::Ok();
  wq::EntryStates states;
  for (size_t i = 0; i < wq::kEntryStateCount; ++i) {
    const auto state = static_cast<wq::EntryState>(i);
    if (StatesOf(args.change).Has(state) && filter.states.Has(state)) states.Add(state);
  }
  filter.states = states;
  std::unordered_set<std::string> seen;  // A key may be pending and delayed, and have failed once.
  return VisitMatching(view, {args.queue}, filter, wq::Clock::System()->WallUs(),
                       [&](const std::string&, const wq::Entry& entry) {
                         if (IsFor(args.change, entry) && seen.insert(entry.key).second) {
                           visit(entry.key);
                         }
                         return seen.size() < limit && !Interrupted();
                       });
}

wq::Status LookAt(const wq::StoreView& view, const KeyChangeArgs& args, const std::string& key,
                  Report* report) {
  std::vector<wq::Entry> entries;
  wq::Status s = view.Find(args.queue, key, &entries);
  if (!s.ok() && s.code() != wq::StatusCode::kNotFound) return s;
  const bool found = std::any_of(entries.begin(), entries.end(),
                                 [&](const wq::Entry& entry) { return IsFor(args.change, entry); });
  if (found) {
    report->WouldDo(key);
  } else {
    report->Absent(key);
  }
  return wq::Status::Ok();
}

int DryRun(const KeyChangeArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return Fail(s);
  Report report(args);
  wq::Status s;
  if (args.bulk()) {
    s = VisitSelected(*view, args, [&report](const std::string& key) { report.WouldDo(key); });
  }
  for (size_t i = 0; i < args.keys.size() && s.ok() && !Interrupted(); ++i) {
    s = LookAt(*view, args, args.keys[i], &report);
  }
  return s.ok() ? report.Finish() : Fail(s);
}

wq::Status MakeQuestion(const KeyChangeArgs& args, const wq::StoreView& view, std::string* text) {
  const Wording wording = WordingOf(args.change);
  const std::string queue = " of queue \"" + wq::EscapeKey(args.queue) + "\"";
  *text = wording.would;
  text->front() = static_cast<char>(text->front() - 'a' + 'A');
  if (args.bulk()) {
    uint64_t count = 0;
    if (wq::Status s = VisitSelected(view, args, [&count](const std::string&) { ++count; });
        !s.ok()) {
      return s;
    }
    const bool all = args.filter.SelectsAll();
    *text += (all ? " all " : " ") + std::to_string(count) + " " + std::string(wording.object) +
             queue + (all ? "?" : " that match?");
    return wq::Status::Ok();
  }
  for (size_t i = 0; i < std::min(args.keys.size(), kKeysInQuestion); ++i) {
    text->append(i == 0 ? " \"" : ", \"").append(wq::EscapeKey(args.keys[i], 64)).append("\"");
  }
  if (args.keys.size() > kKeysInQuestion) {
    *text += " and " + std::to_string(args.keys.size() - kKeysInQuestion) + " more";
  }
  *text += queue + "?";
  return wq::Status::Ok();
}

// --- The change ---

// The keys that the filter stands for, now that we own the store, or its owner has written what it has done.
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
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  wq::ChangeResult result;
  // One wait for all.
  wq::Status s = queue->Change(args.change, views, wq::Durability::kProcess, &result);
  report->Done(result.done);
  // Of a selection, it is what another process was faster with.
  for (const size_t index : result.absent) {
    if (!args.bulk()) report->Absent(keys[index]);
  }
  return s;
}

}  // namespace

int Run(const KeyChangeArgs& args) {
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end =
      Confirm(args, [&args](const wq::StoreView& view, std::string* text) {
        return MakeQuestion(args, view, text);
      });
  if (end) return *end;

  ReachedQueue reached;
  if (wq::Status s =
          ReachQueue(args.store_dir, args.queue, {.durability = wq::Durability::kAsync}, &reached);
      !s.ok()) {
    return Fail(s);
  }
  Report report(args);
  if (wq::Status s = ChangeAll(args, reached.access.get(), &report); !s.ok()) return Fail(s);
  if (wq::Status s = reached.Close(); !s.ok()) return Fail(s);
  return report.Finish();
}

}  // namespace wqctl

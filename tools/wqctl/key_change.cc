// wqctl rm, cancel-delay, forget, quarantine release, quarantine drop: one change, made to each of
// some keys.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tools/wqctl/confirm.h"
#include "tools/wqctl/exit_code.h"
#include "tools/wqctl/json.h"
#include "tools/wqctl/log.h"
#include "tools/wqctl/open_queue.h"
#include "tools/wqctl/output.h"
#include "tools/wqctl/verbs.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/queue.h"
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

Wording WordingOf(KeyChange change) {
  switch (change) {
    case KeyChange::kRemove:
      return {"remove", "removed", "not pending", "pending keys"};
    case KeyChange::kCancelDelay:
      return {"cancel the delay of", "cancelled", "not delayed", "delayed keys"};
    case KeyChange::kForget:
      return {"forget the failures of", "forgotten", "not failing", "failing keys"};
    case KeyChange::kRelease:
      return {"release", "released", "not in quarantine", "keys in quarantine"};
    case KeyChange::kDrop:
      return {"drop", "dropped", "not in quarantine", "keys in quarantine"};
  }
  return {};
}

// Counts what became of the keys, and says so in the end.
class Report {
 public:
  explicit Report(const KeyChangeArgs& args) : args_(args), wording_(WordingOf(args.change)) {}

  void Done() { ++done_; }
  void WouldDo(std::string_view key) {
    ++done_;
    if (args_.format == Format::kJson) return;
    out_.Write("would " + std::string(wording_.would) + " \"" + wq::EscapeKey(key, key.size()) +
               "\"\n");
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

// Visits the keys that --all stands for.
wq::Status VisitAll(const wq::StoreView& view, const KeyChangeArgs& args,
                    const std::function<void(const std::string&)>& visit) {
  const auto visit_key = [&visit](const auto& entry) {
    visit(entry.key);
    return !Interrupted();
  };
  return args.change == KeyChange::kForget ? view.ForEachFailing(args.queue, visit_key)
                                           : view.ForEachQuarantined(args.queue, visit_key);
}

bool IsFor(KeyChange change, const wq::Entry& entry) {
  using State = wq::EntryState;
  const bool due = entry.state == State::kDelayed &&
                   entry.ready_at_us <= wq::Clock::System()->WallUs();  // As good as pending.
  switch (change) {
    case KeyChange::kRemove:
      return entry.state == State::kPending || due;
    case KeyChange::kCancelDelay:
      return entry.state == State::kDelayed && !due;
    case KeyChange::kForget:
      return entry.state != State::kQuarantined && entry.failures.has_value();
    case KeyChange::kRelease:
    case KeyChange::kDrop:
      return entry.state == State::kQuarantined;
  }
  return false;
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
  if (args.all) {
    s = VisitAll(*view, args, [&report](const std::string& key) { report.WouldDo(key); });
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
  if (args.all) {
    uint64_t count = 0;
    if (wq::Status s = VisitAll(view, args, [&count](const std::string&) { ++count; }); !s.ok()) {
      return s;
    }
    *text += " all " + std::to_string(count) + " " + std::string(wording.object) + queue + "?";
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

// The keys that --all stands for, of a store that we own.
wq::Status AllKeys(const KeyChangeArgs& args, std::vector<std::string>* keys) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = ViewQueue(args, &view); !s.ok()) return s;
  return VisitAll(*view, args, [keys](const std::string& key) { keys->push_back(key); });
}

// NotFound: the key is not as the change needs it.
class Changer {
 public:
  Changer(KeyChange change, wq::Queue* queue) : change_(change), queue_(queue) {
    if (change != KeyChange::kForget) return;
    for (wq::QuarantinedKey& key : queue->Quarantined()) quarantined_.insert(std::move(key.key));
  }

  wq::Status Change(const std::string& key) {
    switch (change_) {
      case KeyChange::kRemove:
        return queue_->Remove(key);
      case KeyChange::kCancelDelay:
        return queue_->CancelDelay(key);
      case KeyChange::kForget:
        // The queue would be silent about a key without failures.
        if (queue_->NumRequeues(key) == 0 || quarantined_.contains(key)) {
          return wq::Status::NotFound("no failures");
        }
        return queue_->Forget(key);
      case KeyChange::kRelease:
        return queue_->Release(key);
      case KeyChange::kDrop:
        return queue_->Drop(key);
    }
    return wq::Status::Ok();
  }

 private:
  const KeyChange change_;
  wq::Queue* const queue_;
  std::unordered_set<std::string> quarantined_;  // Only for kForget.
};

wq::Status ChangeAll(const KeyChangeArgs& args, wq::Queue* queue, Report* report) {
  std::vector<std::string> keys = args.keys;
  if (args.all) {
    if (wq::Status s = AllKeys(args, &keys); !s.ok()) return s;
  }
  queue->Len();  // Makes what is due pending, so that it is not up to the timer.
  Changer changer(args.change, queue);
  for (const std::string& key : keys) {
    wq::Status s = changer.Change(key);
    if (s.ok()) {
      report->Done();
    } else if (s.code() == wq::StatusCode::kNotFound) {
      report->Absent(key);
    } else {
      return s;
    }
  }
  // One wait for all.
  return queue->Flush(wq::Durability::kProcess);
}

}  // namespace

int Run(const KeyChangeArgs& args) {
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end =
      Confirm(args, [&args](const wq::StoreView& view, std::string* text) {
        return MakeQuestion(args, view, text);
      });
  if (end) return *end;

  wq::QueueOptions options = ToolQueueOptions();
  options.create_if_missing = false;
  options.durability = wq::Durability::kAsync;
  OpenedQueue opened;
  if (wq::Status s = OpenQueue(args.store_dir, args.queue, options, &opened); !s.ok()) {
    return Fail(s);
  }
  Report report(args);
  if (wq::Status s = ChangeAll(args, opened.queue, &report); !s.ok()) return Fail(s);
  if (wq::Status s = opened.store->Close(); !s.ok()) return Fail(s);
  return report.Finish();
}

}  // namespace wqctl

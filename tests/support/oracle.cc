#include "tests/support/oracle.h"

#include <algorithm>
#include <utility>

namespace wq::support {
namespace {

// The durability of the call: its own, or `otherwise`.
Durability LevelOf(const StoreCall& call, Durability otherwise) {
  return call.call.durability.value_or(otherwise);
}

Durability Needed(CrashKind crash) {
  return crash == CrashKind::kKill ? Durability::kProcess : Durability::kPower;
}

// Compares the model, while it replays a life, with the disk: which queues are as found.
class Comparison {
 public:
  explicit Comparison(const StoreImage& found) : found_(found), same_(found.size(), false) {}

  void Compare(const NaiveStore& model, size_t queue) {
    same_[queue] = model.queue(queue).OnDisk() == found_[queue];
  }
  void CompareAll(const NaiveStore& model) {
    for (size_t i = 0; i < found_.size(); ++i) {
      Compare(model, i);
    }
  }
  bool AllSame() const { return std::find(same_.begin(), same_.end(), false) == same_.end(); }
  const std::vector<bool>& same() const { return same_; }

 private:
  const StoreImage& found_;
  std::vector<bool> same_;
};

// Recovery, the firing after it, and time change every queue, each in a step of its own and in any
// order. So each queue may be found at another of these stages.
struct Stage {
  NaiveStore model;
  std::vector<bool> same;  // By queue: whether it is as found.
};
using Stages = std::vector<Stage>;

// Each queue at the last stage at which it is as found; nothing if a queue is so at no stage.
std::optional<NaiveStore> Mixed(const Stages& stages) {
  NaiveStore mixed = stages.back().model;
  for (size_t q = 0; q < stages.back().same.size(); ++q) {
    const auto stage = std::find_if(stages.rbegin(), stages.rend(),
                                    [q](const Stage& candidate) { return candidate.same[q]; });
    if (stage == stages.rend()) {
      return std::nullopt;
    }
    if (stage != stages.rbegin()) {
      mixed.Restore(q, stage->model);
    }
  }
  return mixed;
}

}  // namespace

Life ReadReports(const std::string& reports, StoreSource source) {
  Life life;
  for (size_t at = 0, end = 0; (end = reports.find('\n', at)) != std::string::npos; at = end + 1) {
    if (reports[at] == 'b') {
      life.calls.push_back(source.Next());
    } else if (reports[at] == 'a') {
      life.results.push_back(Unpacked(reports.substr(at + 2, end - at - 2)));
    }
  }
  return life;
}

Oracle::Oracle(const std::vector<QueueRules>& rules, int64_t wall_us)
    : rules_(rules), model_(rules, wall_us) {}

std::string Oracle::Judge(const Life& life, const StoreImage& found) {
  uint64_t durable = 0;
  std::string wrong = CheckResults(life, &durable);
  Life single = life;
  single.calls.clear();
  for (const StoreCall& call : life.calls) {
    const std::vector<StoreCall> adds = AddsOf(call);
    single.calls.insert(single.calls.end(), adds.begin(), adds.end());
  }
  if (wrong.empty() && !Match(single, durable, found)) {
    wrong = Difference(single, durable, found);
  }
  return Packed(wrong);
}

std::string Oracle::CheckResults(const Life& life, uint64_t* durable) const {
  NaiveStore model = model_;
  model.Crash();  // This life began with a recovery.
  for (size_t i = 0; i < life.results.size(); ++i) {
    const StoreCall& call = life.calls[i];
    const std::string expected = model.Do(call);
    if (life.results[i] == kNotDurable) {
      continue;
    }
    if (life.results[i] != expected) {
      return "call " + std::to_string(i + 1) + ", " + call.ToString() + ", returned " +
             life.results[i] + " rather than " + expected;
    }
    if (LevelOf(call, life.level) >= Needed(life.crash)) {
      *durable = std::max(*durable, model.stands_on());
    }
  }
  return "";
}

// Replays the life on the model, and leaves it at the last state that is as found.
bool Oracle::Match(const Life& life, uint64_t durable, const StoreImage& found) {
  NaiveStore model = model_;
  std::optional<NaiveStore> matched;
  Comparison comparison(found);
  Stages stages;
  const auto stage = [&] {
    comparison.CompareAll(model);
    stages.push_back({model, comparison.same()});
  };
  const auto take = [&](uint64_t calls) {
    if (std::optional<NaiveStore> mixed = Mixed(stages)) {
      matched = std::move(mixed);
      survived_ = calls;
    }
  };
  stage();  // The process may have died before it had recovered.
  model.Recover();
  stage();
  model.Fire();
  stage();
  if (durable == 0) {
    take(0);
  }
  for (uint64_t i = 1; i <= life.calls.size(); ++i) {
    const StoreCall& call = life.calls[i - 1];
    const bool reopens = call.call.op == Op::kReopen || call.call.op == Op::kDeleteQueue;
    stages.clear();
    if ((call.OnStore() || reopens) && i >= durable) {
      stage();
    }
    if (reopens && i >= durable) {
      NaiveStore half = model;
      half.BeginReopening(call);
      comparison.CompareAll(half);
      stages.push_back({std::move(half), comparison.same()});
    }
    model.Do(call);
    if (i < durable) {
      continue;
    }
    if (call.OnStore() || reopens || i == durable) {
      comparison.CompareAll(model);
    } else {
      comparison.Compare(model, call.queue);
    }
    if (call.OnStore() || reopens || comparison.AllSame()) {
      stages.push_back({model, comparison.same()});
      take(i);
    }
  }
  if (matched) {
    model_ = *matched;
  }
  return matched.has_value();
}

// Each queue that is in no state it may be in, with the first and the last of these.
std::string Oracle::Difference(const Life& life, uint64_t durable, const StoreImage& found) const {
  NaiveStore model = model_;
  std::vector<StoreImage> possible;
  const auto note = [&] {
    possible.emplace_back();
    for (size_t q = 0; q < model.queues(); ++q) {
      possible.back().push_back(model.queue(q).OnDisk());
    }
  };
  if (durable == 0) {
    note();
  }
  model.Crash();
  for (uint64_t i = 0; i <= life.calls.size(); ++i) {
    if (i > 0) {
      model.Do(life.calls[i - 1]);
    }
    if (i >= durable) {
      note();
    }
  }
  std::string text = "no prefix of the " + std::to_string(life.calls.size()) + " calls, of which " +
                     std::to_string(durable) + " must be on disk, leaves this:";
  for (size_t q = 0; q < found.size(); ++q) {
    if (std::none_of(possible.begin(), possible.end(),
                     [&](const StoreImage& image) { return image[q] == found[q]; })) {
      text += "\n" + rules_[q].name + " on disk: " + found[q].ToString() +
              "\n  first: " + possible.front()[q].ToString() +
              "\n  last:  " + possible.back()[q].ToString();
    }
  }
  return text;
}

}  // namespace wq::support

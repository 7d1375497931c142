// wqctl limits ls, set, reset: what bounds the hand-outs of a queue and of its groups.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/rate.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/number.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/confirm.h"
#include "tools/wqctl/verbs/reach.h"
#include "wq/keys.h"
#include "wq/live_store.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kLimitsLsExamples =
    R"(A line for each group whose limits were set, and for each queue that has limits, with -
in place of the group. PROCESSING is how many keys workers hold, HELD BACK whether no key
may be handed out now, NEXT IN for how long a rate holds it back. They are of the process that
serves the store; - without one. Works beside a living owner and after a crash.

Examples:
  wqctl limits ls
  wqctl limits ls -q pods -o json)";

constexpr const char* kLimitsSetExamples =
    R"(The options replace all limits that were set before: what is not given is no bound. They
count from now on and over restarts, until reset. A rate is a token bucket: at most --burst
keys at once, and then --rate.

Examples:
  wqctl limits set -q pods --max-processing 100 --yes
  wqctl limits set -q pods --group tenant-1 --max-processing 2 --rate 10/s --burst 5 --yes
  wqctl limits set -q pods --group tenant-2 --weight 3 --yes)";

constexpr const char* kLimitsResetExamples =
    R"(Then the limits count again with which its owner opens the queue.

Examples:
  wqctl limits reset -q pods --group tenant-1 --yes
  wqctl limits reset -q pods --yes)";

struct LimitsLsArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Format format = Format::kTable;
};

struct LimitsChangeArgs : ChangeArgs {
  std::string group;                      // Empty: the whole queue.
  std::optional<wq::GroupLimits> limits;  // Unset: reset.
};

using LimitsByGroup = std::map<std::string, wq::GroupStatus>;

// The queues that a process serves now, or none.
std::set<std::string> ServedQueues(const wq::LiveStore* live) {
  wq::LiveInfo info;
  std::set<std::string> served;
  if (live == nullptr || !live->Read(&info).ok()) return served;
  for (const wq::LiveQueue& queue : info.queues) {
    if (queue.open) served.insert(queue.name);
  }
  return served;
}

wq::Status ReadStored(const wq::StoreView& view, const std::string& queue, LimitsByGroup* limits) {
  std::map<std::string, wq::GroupLimits> set;
  wq::Status s = view.Limits(queue, &set);
  for (const auto& [group, own] : set) {
    wq::GroupStatus& status = (*limits)[group];
    status.limits = own;
    status.own_limits = true;
  }
  return s;
}

std::string OrDash(bool shown, const std::string& text) { return shown ? text : "-"; }

std::vector<std::string> CellsOf(const std::string& queue, const std::string& group,
                                 const wq::GroupStatus& status, bool live) {
  const wq::GroupLimits& limits = status.limits;
  const bool has_rate = limits.rate.per_second != 0;
  return {wq::EscapeKey(queue),
          OrDash(!group.empty(), wq::EscapeKey(group)),
          OrDash(limits.max_processing != 0, std::to_string(limits.max_processing)),
          OrDash(has_rate, FormatPerSecond(limits.rate.per_second)),
          OrDash(has_rate, std::to_string(limits.rate.burst)),
          OrDash(!group.empty(), std::to_string(limits.weight)),
          OrDash(live, std::to_string(status.processing)),
          OrDash(live, status.held_back ? "yes" : "no"),
          status.next_in ? FormatDuration(*status.next_in) : "-"};
}

// False: the output has ended.
bool Print(const std::string& queue, const LimitsByGroup& limits, bool live, Listing* listing) {
  for (const auto& [name, of] : limits) {
    const auto row = [&, &group = name, &status = of] {
      return CellsOf(queue, group, status, live);
    };
    const auto json = [&, &group = name, &status = of](std::string* text) {
      AppendLimitsJson(queue, group, status, live, text);
    };
    const auto name_line = [&group = name] { return wq::EscapeKey(group) + "\n"; };
    if (!listing->Row(json, row, name_line)) return false;
  }
  return true;
}

int Run(const LimitsLsArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> queues;
  if (wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &queues); !s.ok()) {
    return Fail(s);
  }
  std::unique_ptr<wq::LiveStore> live;  // Stays null if nobody serves the store.
  static_cast<void>(wq::LiveStore::Connect(args.store_dir, &live));
  const std::set<std::string> served = ServedQueues(live.get());
  Output out;
  Listing listing(args.format,
                  {"QUEUE", "GROUP", "MAX PROCESSING", "RATE", "BURST", "WEIGHT", "PROCESSING",
                   "HELD BACK", "NEXT IN"},
                  &out);
  for (const std::string& queue : queues) {
    LimitsByGroup limits;
    const bool is_live =
        served.contains(queue) && live->Access(queue, false)->GetLimits({}, &limits).ok();
    wq::Status s;
    if (!is_live) s = ReadStored(*view, queue, &limits);
    if (!s.ok()) {
      listing.End(false);
      return out.Finish(Fail(s));
    }
    if (!Print(queue, limits, is_live, &listing)) break;
  }
  listing.End(true);
  return out.Finish(kExitOk);
}

// "group "g" of queue "q"".
std::string WhatOf(const LimitsChangeArgs& args) {
  const std::string queue = "queue \"" + wq::EscapeKey(args.queue) + "\"";
  return args.group.empty() ? queue : "group \"" + wq::EscapeKey(args.group) + "\" of " + queue;
}

// " to 2 processing, 10/s, burst 5, weight 3".
std::string TextOf(const LimitsChangeArgs& args) {
  const wq::GroupLimits& limits = *args.limits;
  std::vector<std::string> parts;
  if (limits.max_processing != 0) {
    parts.push_back(std::to_string(limits.max_processing) + " processing");
  }
  if (limits.rate.per_second != 0) {
    parts.push_back(FormatPerSecond(limits.rate.per_second));
    parts.push_back("burst " + std::to_string(limits.rate.burst));
  }
  if (!args.group.empty()) parts.push_back("weight " + std::to_string(limits.weight));
  std::string text = " to ";
  for (const std::string& part : parts) text += (text == " to " ? "" : ", ") + part;
  return parts.empty() ? " to no bound" : text;
}

// "limit group "g" of queue "q" to 2 processing".
std::string ChangeOf(const LimitsChangeArgs& args, const std::string& verb) {
  return args.limits ? verb + " " + WhatOf(args) + TextOf(args)
                     : verb + " the limits of " + WhatOf(args);
}

int PrintOutcome(const LimitsChangeArgs& args, bool was_set, const std::string& limited,
                 const std::string& reset) {
  Output out;
  if (!args.limits && !was_set) {
    out.Write(WhatOf(args) + " has no limits that were set\n");
  } else {
    out.Write(ChangeOf(args, args.limits ? limited : reset) + "\n");
  }
  return out.Finish(kExitOk);
}

int DryRun(const LimitsChangeArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  LimitsByGroup limits;
  wq::Status s = ViewQueue(args, &view);
  if (s.ok()) s = ReadStored(*view, args.queue, &limits);
  return s.ok() ? PrintOutcome(args, limits.contains(args.group), "would limit", "would reset")
                : Fail(s);
}

int Run(const LimitsChangeArgs& args) {
  if (args.dry_run) return DryRun(args);
  const std::optional<int> end = Confirm(args, [&](const wq::StoreView&, std::string* text) {
    *text = ChangeOf(args, args.limits ? "Limit" : "Reset") + "?";
    return wq::Status::Ok();
  });
  if (end) return *end;
  ReachedQueue reached;
  LimitsByGroup before;
  wq::Status s = ReachQueue(args.store_dir, args.queue, {}, &reached);
  if (s.ok() && !args.limits) {
    const std::vector<std::string> groups = {args.group};
    s = reached.access->GetLimits(groups, &before);
  }
  if (s.ok()) s = reached.access->SetLimits(args.group, args.limits);
  if (s.ok()) s = reached.Close();
  return s.ok() ? PrintOutcome(args, before[args.group].own_limits, "limited", "reset") : Fail(s);
}

void AddGroup(VerbParser* parser, LimitsChangeArgs* args) {
  parser->Text("--group", "NAME", "The group; default: all keys of the queue", &args->group);
}

}  // namespace

Command ParseLimitsLs(const Input& input) {
  LimitsLsArgs args;
  VerbParser parser(
      input, {"Lists the limits on the hand-outs of queues and groups.", "", kLimitsLsExamples},
      &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.ParseWithoutArguments();
  return args;
}

Command ParseLimitsSet(const Input& input) {
  LimitsChangeArgs args;
  std::optional<uint32_t> max_processing;
  std::optional<double> rate;
  std::optional<uint32_t> burst;
  std::optional<uint32_t> weight;
  VerbParser parser(input,
                    {"Sets what bounds the hand-outs of a queue, or of one of its groups.", "",
                     std::string(kLimitsSetExamples) + kAboutAsking},
                    &args.store_dir);
  AddChangeOptions(&parser, &args);
  AddGroup(&parser, &args);
  AddParsed(&parser, "--max-processing", "N", "How many keys workers hold at a time, at most",
            "an integer from 1", ParseNumber<uint32_t, 1>, &max_processing);
  AddParsed(&parser, "--rate", "N[/s|/m|/h]", "How many keys are handed out, at most",
            kHandOutRateTexts, ParseHandOutRate, &rate);
  AddParsed(&parser, "--burst", "N", "With --rate: how many at once; default: 1",
            "an integer from 1 to 1000000", ParseNumber<uint32_t, 1, wq::kMaxBurst>, &burst);
  AddParsed(&parser, "--weight", "N", "The group's share where groups take turns; default: 1",
            "an integer from 1 to 1000", ParseNumber<uint32_t, 1, wq::kMaxWeight>, &weight);
  parser.ParseWithoutArguments();
  if (!max_processing && !rate && !weight) Usage("give --max-processing, --rate or --weight");
  if (burst && !rate) Usage("--burst goes with --rate");
  if (weight && args.group.empty()) Usage("--weight goes with --group");
  args.limits =
      wq::GroupLimits{.max_processing = max_processing.value_or(0),
                      .rate = {.per_second = rate.value_or(0), .burst = burst.value_or(1)},
                      .weight = weight.value_or(1)};
  return args;
}

Command ParseLimitsReset(const Input& input) {
  LimitsChangeArgs args;
  VerbParser parser(input,
                    {"Ends the limits that were set for a queue, or for one of its groups.", "",
                     std::string(kLimitsResetExamples) + kAboutAsking},
                    &args.store_dir);
  AddChangeOptions(&parser, &args);
  AddGroup(&parser, &args);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl

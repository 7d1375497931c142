// wqctl diff: how the keys differ between two stores, snapshots or dumps. Changes nothing.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/wqctl/cli/dump_frame.h"
#include "tools/wqctl/cli/filter.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/dump_line.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/verbs/key_reader.h"
#include "tools/wqctl/verbs/steps.h"
#include "wq/entry_diff.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

using Side = wq::EntryDiff::Side;

constexpr const char* kDiffExamples =
    R"(BEFORE and AFTER are directories of stores, or files with the output of wqctl dump; "-" is
standard input. added: only in AFTER. removed: only in BEFORE. moved: in another state or
lane. failed: has more failures. changed: differs otherwise, for example done and added
again. Changes nothing; works beside living owners. Exit code 0 if nothing differs, 1 if
anything does.

Examples:
  wqctl dump > before.jsonl; sleep 60; wqctl diff before.jsonl "$WQ_STORE"
  wqctl diff -q pods --prefix default/ yesterday.wq /var/lib/pods
  wqctl diff before.jsonl after.jsonl -o jsonl | jq -r 'select(.change[] == "failed") | .key')";

struct DiffArgs {
  std::string before;
  std::string after;
  std::optional<std::string> queue;
  Filter filter;
  Show show;
  Format format = Format::kTable;
};

// The queues, cursors and limits of a side, as text.
using Others = std::map<OtherPart, std::string>;

class SideReader {
 public:
  SideReader(const DiffArgs& args, Side side, wq::EntryDiff* diff, ProgressLine* progress)
      : args_(args), side_(side), diff_(*diff), progress_(*progress) {}

  // Returns kExitOk; otherwise the reason was reported.
  int Read(const std::string& path) {
    struct stat info = {};
    if (path != "-" && stat(path.c_str(), &info) != 0) {
      const int error = errno;
      LogError(wq::EscapeKey(path, 4096) + ": " + ErrnoText(error));
      return error == ENOENT ? kExitNotFound : kExitFailure;
    }
    return path != "-" && S_ISDIR(info.st_mode) ? ReadStore(path) : ReadDump(path);
  }

  const Others& others() const { return others_; }
  // All queues of the side; collected only if args.queue is set.
  const std::set<std::string>& queues() const { return queues_; }

 private:
  std::string StepName() const {
    return side_ == Side::kBefore ? "diff: reading BEFORE" : "diff: reading AFTER";
  }
  bool IsWanted(const std::string& queue) {
    if (!args_.queue) return true;
    queues_.insert(queue);
    return queue == *args_.queue;
  }
  wq::Status Add(const std::string& queue, const wq::Entry& entry) {
    if (!IsWanted(queue)) return {};
    if (!args_.filter.Matches(entry, args_.show.now_us)) return {};
    return diff_.Add(side_, queue, entry);
  }
  void AddOther(OtherPart part, std::string text) {
    if (!IsWanted(part.queue)) return;
    if (args_.filter.SelectsAll()) others_.emplace(std::move(part), std::move(text));
  }
  void AddCursor(DumpedCursor cursor) {
    AddOther({std::move(cursor.queue), OtherPart::Kind::kCursor, std::move(cursor.name)},
             std::move(cursor.value));
  }
  void AddLimits(DumpedLimits limits) {
    std::string text;
    AppendDumpLine(limits, &text);
    AddOther({std::move(limits.queue), OtherPart::Kind::kLimits, std::move(limits.group)},
             std::move(text));
  }
  // Leaves out what the queue changes by itself.
  void AddQueue(wq::QueueInfo info) {
    info.created_at_us = 0;
    info.sequence_high_water = 0;
    info.limiter_state.clear();
    std::string text;
    AppendDumpLine(info, &text);
    AddOther({std::move(info.name)}, std::move(text));
  }

  int ReadStore(const std::string& path) {
    std::unique_ptr<wq::StoreView> view;
    if (wq::Status s = wq::StoreView::Open(path, &view); !s.ok()) return Fail(s);
    const std::vector<std::string> names = view->QueueNames();
    progress_.Begin(
        StepOfEntries(StepName(), *view, args_.queue ? Words{*args_.queue} : names, {}));
    for (const std::string& name : names) {
      if (!IsWanted(name)) continue;
      wq::Status s = ReadQueue(*view, name);
      if (!s.ok()) return Fail(s);
    }
    return kExitOk;
  }

  wq::Status ReadQueue(const wq::StoreView& view, const std::string& name) {
    wq::QueueInfo info;
    std::map<std::string, std::string> cursors;
    if (wq::Status s = view.Info(name, &info); !s.ok()) return s;
    std::map<std::string, wq::GroupLimits> groups;
    if (wq::Status s = view.Cursors(name, &cursors); !s.ok()) return s;
    if (wq::Status s = view.Limits(name, &groups); !s.ok()) return s;
    AddQueue(std::move(info));
    for (auto& [cursor, value] : cursors) AddCursor({name, cursor, std::move(value)});
    for (const auto& [group, limits] : groups) AddLimits({name, group, limits});
    wq::Status added;
    wq::Status s = view.ForEachEntry(name, [&](const wq::Entry& entry) {
      progress_.Add();
      added = Add(name, entry);
      return added.ok() && !Interrupted();
    });
    return s.ok() ? added : s;
  }

  int ReadDump(const std::string& path) {
    const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      LogError("cannot open " + wq::EscapeKey(path, 4096) + ": " + ErrnoText(errno));
      return kExitFailure;
    }
    KeyReader reader(fd, '\n', kMaxDumpLineBytes);
    DumpFrame frame;
    progress_.Begin({.name = StepName(), .unit = "keys"});
    int code = kExitOk;
    while (code == kExitOk && !Interrupted() && reader.ReadMore()) {
      for (const KeyReader::Line& line : reader.lines()) {
        if (code = ReadLine(path, line, &frame); code != kExitOk) break;
        progress_.Add();
      }
      progress_.Read(reader.bytes_read(), reader.bytes_in_file());
    }
    if (reader.error() != 0) {
      LogError("cannot read " + wq::EscapeKey(path, 4096) + ": " + ErrnoText(reader.error()));
      code = kExitFailure;
    }
    std::string error;
    if (code == kExitOk && !Interrupted() && !frame.AtEnd(&error)) {
      LogError(wq::EscapeKey(path, 4096) + ": " + error);
      code = kExitFailure;
    }
    if (fd != STDIN_FILENO) close(fd);
    return code;
  }

  int ReadLine(const std::string& path, const KeyReader::Line& line, DumpFrame* frame) {
    if (line.bytes == 0) return kExitOk;
    DumpRecord record;
    std::string error = "it is too long";
    wq::Status s;
    if (line.bytes > kMaxDumpLineBytes || !ParseDumpLine(line.text, &record, &error) ||
        !frame->Take(record, &error)) {
      s = wq::Status::IOError(error);
    } else if (auto* info = std::get_if<wq::QueueInfo>(&record)) {
      AddQueue(std::move(*info));
    } else if (auto* cursor = std::get_if<DumpedCursor>(&record)) {
      AddCursor(std::move(*cursor));
    } else if (auto* limits = std::get_if<DumpedLimits>(&record)) {
      AddLimits(std::move(*limits));
    } else if (const auto* dumped = std::get_if<DumpedEntry>(&record)) {
      s = Add(dumped->queue, dumped->entry);
    }
    if (s.ok()) return kExitOk;
    LogError(wq::EscapeKey(path, 4096) + ": line " + std::to_string(line.number) + ": " +
             s.message());
    return kExitFailure;
  }

  const DiffArgs& args_;
  const Side side_;
  wq::EntryDiff& diff_;
  ProgressLine& progress_;
  Others others_;
  std::set<std::string> queues_;
};

// A queue may exist on one side only. A queue that is on neither side was mistyped.
wq::Status CheckQueue(const DiffArgs& args, const SideReader& before, const SideReader& after) {
  std::set<std::string> names = before.queues();
  names.insert(after.queues().begin(), after.queues().end());
  if (!args.queue || names.contains(*args.queue)) return wq::Status::Ok();
  return NoSuchQueue(*args.queue, {names.begin(), names.end()});
}

std::vector<std::string> ChangesOf(const wq::KeyDiff& diff) {
  std::vector<std::string> changes;
  if (diff.added) changes.emplace_back("added");
  if (diff.removed) changes.emplace_back("removed");
  if (diff.moved) changes.emplace_back("moved");
  if (diff.failed) changes.emplace_back("failed");
  if (diff.changed) changes.emplace_back("changed");
  return changes;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::string PlacesText(const std::vector<wq::Entry>& entries) {
  std::vector<std::string> places;
  for (const wq::Entry& entry : entries) {
    std::string place(wq::EntryStateName(entry.state));
    if (entry.state != wq::EntryState::kFailing && entry.lane != wq::kFastLane) {
      place += " " + wq::LaneName(entry.lane);
    }
    places.push_back(std::move(place));
  }
  return places.empty() ? "-" : Joined(places);
}

std::string FailuresText(const wq::KeyDiff& diff, std::string* error) {
  uint64_t before = 0;
  uint64_t after = 0;
  *error = "-";
  for (const wq::Entry& entry : diff.before)
    before = entry.failures ? entry.failures->count : before;
  for (const wq::Entry& entry : diff.after) {
    if (!entry.failures) continue;
    after = entry.failures->count;
    *error = wq::EscapeKey(entry.failures->last_error);
  }
  if (before == after) return std::to_string(after);
  return std::to_string(before) + " to " + std::to_string(after);
}

// In the place of a key.
std::string NameOf(const OtherPart& part) {
  const std::string name = wq::EscapeKey(part.name);
  switch (part.kind) {
    case OtherPart::Kind::kQueue:
      return "(queue)";
    case OtherPart::Kind::kCursor:
      return "(cursor " + name + ")";
    case OtherPart::Kind::kLimits:
      return part.name.empty() ? "(limits)" : "(limits of " + name + ")";
  }
  return "";
}

// Prints the differences, and counts them.
class DiffPrinter {
 public:
  DiffPrinter(const DiffArgs& args, Output* out)
      : args_(args),
        out_(out),
        listing_(args.format,
                 {"CHANGE", "QUEUE", "KEY", "BEFORE", "AFTER", "FAILURES", "LAST ERROR"}, out) {}

  bool Print(const wq::KeyDiff& diff) {
    const std::vector<std::string> changes = ChangesOf(diff);
    for (const std::string& change : changes) ++counts_[change];
    const auto cells = [&] {
      std::string error;
      const std::string failures = FailuresText(diff, &error);
      return std::vector<std::string>{Joined(changes),
                                      wq::EscapeKey(diff.queue),
                                      args_.show.Key(diff.key),
                                      PlacesText(diff.before),
                                      PlacesText(diff.after),
                                      failures,
                                      error};
    };
    return listing_.Row([&](std::string* json) { AppendKeyDiffJson(diff, changes, json); }, cells,
                        [&] { return KeyLine(args_.show, diff.key, '\n'); });
  }

  // Queues with another pause or number of shards, cursors with another value, and other limits.
  void PrintOthers(const Others& before, const Others& after) {
    std::map<OtherPart, std::pair<bool, bool>> differ;
    for (const auto& [part, text] : before) {
      const auto other = after.find(part);
      if (other == after.end() || other->second != text) differ[part].first = true;
    }
    for (const auto& [part, text] : after) {
      const auto other = before.find(part);
      if (other == before.end() || other->second != text) differ[part].second = true;
    }
    for (const auto& [part, sides] : differ) {
      const std::string change = !sides.first ? "added" : !sides.second ? "removed" : "changed";
      ++counts_[change];
      PrintOther(change, part);
    }
  }

  // Returns kExitOk if nothing differed.
  int Finish(bool complete) {
    listing_.End(complete && (!counts_.empty() || !IsTable(args_.format)));
    if (complete && IsTable(args_.format) && !counts_.empty()) {
      std::string text;
      for (const auto& [change, count] : counts_) {
        text += (text.empty() ? "" : ", ") + change + " " + std::to_string(count);
      }
      out_->Write("\n" + text + "\n");
    }
    return counts_.empty() ? kExitOk : kExitFailure;
  }

 private:
  void PrintOther(const std::string& change, const OtherPart& part) {
    listing_.Row([&](std::string* json) { AppendOtherDiffJson(change, part, json); },
                 [&] {
                   return std::vector<std::string>{
                       change, wq::EscapeKey(part.queue), NameOf(part), "-", "-", "-", "-"};
                 },
                 [] { return std::string(); });  // It has no key.
  }

  const DiffArgs& args_;
  Output* const out_;
  Listing listing_;
  std::map<std::string, uint64_t> counts_;
};

int Run(const DiffArgs& args) {
  const InterruptScope interrupts;
  ProgressLine progress({.name = "diff"});
  wq::EntryDiff diff({.progress = StepsOf("diff", &progress)});
  SideReader before(args, Side::kBefore, &diff, &progress);
  SideReader after(args, Side::kAfter, &diff, &progress);
  if (const int code = before.Read(args.before); code != kExitOk) return code;
  if (const int code = after.Read(args.after); code != kExitOk) return code;
  if (wq::Status s = CheckQueue(args, before, after); !s.ok()) return Fail(s);
  progress.Begin({.name = "diff: comparing"});
  Output out;
  DiffPrinter printer(args, &out);
  printer.PrintOthers(before.others(), after.others());
  wq::Status s =
      diff.Run([&](const wq::KeyDiff& key) { return printer.Print(key) && !Interrupted(); });
  int code = printer.Finish(s.ok());
  if (!s.ok()) code = Fail(s);
  return out.Finish(code);
}

}  // namespace

Command ParseDiff(const Input& input) {
  DiffArgs args;
  VerbParser parser(
      input,
      {"Shows how the keys differ between two stores or dumps.", " BEFORE AFTER", kDiffExamples},
      nullptr);
  AddOnlyQueue(&parser, &args.queue);
  AddFilterOptions(&parser, &args.filter, &args.show.hex);
  AddNow(&parser, &args.show);
  AddFormat(&parser, kListingFormats, &args.format);
  Words sides = parser.Parse();
  if (sides.size() != 2) Usage("which two? Give BEFORE and AFTER");
  if (sides[0] == "-" && sides[1] == "-") Usage("standard input can be read only once");
  if (args.filter.limit || args.filter.sort_by) Usage("diff has no --limit and no --sort-by");
  args.before = std::move(sides[0]);
  args.after = std::move(sides[1]);
  return args;
}

}  // namespace wqctl

// wqctl sync: adds the keys of the objects of a list that are new, changed, or gone since the last.
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/verbs/key_reader.h"
#include "wq/keys.h"
#include "wq/source.h"

namespace wqctl {
namespace {

constexpr const char* kSyncExamples =
    R"(Standard input is the list of all objects that there are, one a line:
  OBJECT<TAB>VERSION[<TAB>KEY]...
VERSION is any text that differs when the object does. Without a KEY the object is the key.

The keys of new and changed objects become pending, and those of objects that are not in the list
any more; a key in quarantine stays there. The others are left as they are: delayed, failing, in
quarantine or done. If a line is refused, the list does not count as complete, and no object as
gone.

The source and the queue are made if they are missing. sync owns the store while it runs.

Examples:
  find /etc -type f -printf '%p\t%T@\n' >list && wqctl sync -q files --source etc - <list
  find . -type f -printf '%p\t%T@\0' >list && wqctl sync -q files --source here -0 - <list
  wqctl sync -q files --source etc --fingerprint v2 - <list        # all of them count as changed)";

struct SyncArgs {
  std::string store_dir;
  std::string queue;
  std::string source;
  std::string scope;
  std::string fingerprint;
  std::optional<wq::Lane> lane;
  wq::Durability durability = wq::Durability::kProcess;
  char delimiter = '\n';
  Format format = Format::kText;
};

// A line as long as the bounds of an object allow, with its tabs.
constexpr size_t kMaxLineBytes =
    wq::kMaxObjectBytes + wq::kMaxVersionBytes + wq::kMaxObjectKeysBytes + wq::kMaxObjectKeys + 1;

class Syncer {
 public:
  explicit Syncer(const SyncArgs& args)
      : args_(args), where_(args.delimiter == '\0' ? "record " : "line "), add_{.lane = args.lane} {
    add_.durability = wq::Durability::kAsync;  // It is waited for at the end.
  }

  int Run() {
    wq::QueueOptions options = ToolQueueOptions();
    options.create_if_missing = true;
    OpenedQueue opened;
    wq::Status s = OpenQueue(args_.store_dir, args_.queue, options, &opened);
    if (s.code() == wq::StatusCode::kLocked) {
      s = wq::Status::Locked(s.message() + ": sync needs the store for itself; end that first");
    }
    wq::Source source;
    if (s.ok()) s = opened.queue->OpenSource(args_.source, &source);
    if (s.ok()) {
      s = source.BeginList({.scope = args_.scope, .fingerprint = args_.fingerprint}, &list_);
    }
    if (s.ok()) s = Read();
    if (s.ok() && refused_ == 0) s = list_->End(add_);
    if (s.ok()) s = opened.queue->Flush(args_.durability);
    if (s.ok()) seen_ = SeenOf(*opened.queue);
    if (wq::Status closed = opened.store == nullptr ? wq::Status() : opened.store->Close();
        s.ok()) {
      s = closed;
    }
    if (!s.ok()) return Fail(s);
    if (refused_ > 0) {
      LogError("refused " + std::to_string(refused_) +
               ": the list is not complete, and no object counts as gone");
    }
    return Print(refused_ == 0 ? kExitOk : kExitFailure);
  }

 private:
  wq::Status Read() {
    ProgressLine progress({.name = "sync", .unit = "objects"});
    KeyReader reader(STDIN_FILENO, args_.delimiter, kMaxLineBytes);
    while (reader.ReadMore()) {
      for (const KeyReader::Line& line : reader.lines()) {
        if (wq::Status s = Observe(line); !s.ok()) return s;
      }
      progress.Add(reader.lines().size());
      progress.Read(reader.bytes_read(), reader.bytes_in_file());
    }
    if (reader.error() == 0) return {};
    return wq::Status::IOError("cannot read standard input: " + ErrnoText(reader.error()));
  }

  // Reports a line that is refused. Another status: the store has failed.
  wq::Status Observe(const KeyReader::Line& line) {
    fields_.clear();
    for (std::string_view rest = line.text;;) {
      const size_t tab = rest.find('\t');
      fields_.push_back(rest.substr(0, tab));
      if (tab == std::string_view::npos) break;
      rest.remove_prefix(tab + 1);
    }
    const std::string_view object = fields_[0];
    wq::Status s;
    if (line.bytes > line.text.size()) {
      s = wq::Status::InvalidArgument("it has " + std::to_string(line.bytes) +
                                      " bytes, more than an object and its keys may have");
    } else if (fields_.size() < 2) {
      s = wq::Status::InvalidArgument("\"" + wq::EscapeKey(object, 40) +
                                      "\" has no tab: a line is OBJECT<TAB>VERSION");
    } else {
      const std::span<const std::string_view> all(fields_);
      s = list_->Observe({.object = object,
                          .version = fields_[1],
                          .keys = all.size() == 2 ? all.first(1) : all.subspan(2)},
                         add_);
    }
    if (s.code() != wq::StatusCode::kInvalidArgument) return s;
    ++refused_;
    LogError(where_ + std::to_string(line.number) + ": " + s.message());
    return {};
  }

  wq::SourceInfo SeenOf(const wq::Queue& queue) const {  // By this process.
    for (const wq::SourceInfo& info : queue.Sources()) {
      if (info.name == args_.source) return info;
    }
    return {};
  }

  int Print(int code) const {
    Output out;
    out.Write(OutcomeText({{{"changed", seen_.changed},
                            {"unchanged", seen_.unchanged},
                            {"deleted", seen_.deleted},
                            {"refused", refused_, false}}},
                          args_.format));
    return out.Finish(code);
  }

  const SyncArgs& args_;
  const std::string where_;
  wq::AddOptions add_;
  std::unique_ptr<wq::SourceList> list_;
  std::vector<std::string_view> fields_;  // Of the current line.
  wq::SourceInfo seen_;
  uint64_t refused_ = 0;
};

int Run(const SyncArgs& args) { return Syncer(args).Run(); }

}  // namespace

Command ParseSync(const Input& input) {
  SyncArgs args;
  bool null_separated = false;
  VerbParser parser(
      input,
      {"Adds the keys of the objects that changed since the list before.", " -", kSyncExamples},
      &args.store_dir);
  AddQueue(&parser, &args.queue);
  parser.Required("--source", "NAME", "Whose objects they are", &args.source);
  parser.Text("--scope", "TEXT",
              "What the list covers; objects of another scope do not count as gone", &args.scope);
  parser.Text("--fingerprint", "TEXT",
              "What handles the keys; objects seen with another one count as changed",
              &args.fingerprint);
  AddLane(&parser, "The lane to put the keys in; default: the lane a key has, else fast",
          &args.lane);
  AddChoice<wq::Durability>(
      &parser, "--durability",
      "What the change survives when sync ends: process (default) kill -9, "
      "power a power cut",
      "a durability: ", {{"process", wq::Durability::kProcess}, {"power", wq::Durability::kPower}},
      &args.durability);
  parser.Flag("-0,--null", "Lines end with NUL bytes", &null_separated);
  AddFormat(&parser, kOutcomeFormats, &args.format);
  if (parser.Parse() != std::vector<std::string>{"-"}) Usage("the list is read from \"-\"");
  if (const wq::Status s = wq::CheckName("source", args.source); !s.ok()) Usage(s.message());
  args.delimiter = null_separated ? '\0' : '\n';
  RequireStdin();
  return args;
}

}  // namespace wqctl

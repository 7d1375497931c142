// wqctl load: writes the output of dump into a store, all or nothing.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/files.h"
#include "base/mutant.h"
#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/dump_line.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "tools/wqctl/verbs/key_reader.h"
#include "wq/internal/import.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr const char* kLoadExamples =
    R"(FILE is the output of wqctl dump; "-" or no FILE is standard input. A missing store is
created. A queue that exists already must be empty, or be replaced. If a line is wrong,
the message names its number, and nothing is loaded.

Examples:
  wqctl dump -q pods > pods.jsonl
  wqctl --store /var/lib/copy load pods.jsonl
  wqctl load --dry-run pods.jsonl
  wqctl load --replace pods.jsonl
  ssh node1 wqctl --store /var/lib/pods dump | wqctl --store pods-of-node1 load)";

struct LoadArgs {
  std::string store_dir;
  std::string file = "-";
  wq::ImportOptions options;
  Format format = Format::kText;
};

// Whether the records that are read are whole dumps. A dump is between a begin and an end, which
// says how many records it has. Records without a begin are accepted as they are: dumps of earlier
// versions, and a part of a dump (ls -o jsonl). Several dumps may follow one another.
class DumpFrame {
 public:
  // False: the record must not be here; *error says why.
  bool Take(const DumpRecord& record, std::string* error);
  // False: the last dump has no end.
  bool AtEnd(std::string* error) const;

 private:
  enum class Place : uint8_t { kOutside, kInside, kBehind };

  Place place_ = Place::kOutside;
  uint64_t records_ = 0;  // Since the begin.
};

bool DumpFrame::Take(const DumpRecord& record, std::string* error) {
  if (std::holds_alternative<DumpBegin>(record)) {
    if (!AtEnd(error)) return false;
    place_ = Place::kInside;
    records_ = 0;
    return true;
  }
  if (const auto* end = std::get_if<DumpEnd>(&record)) {
    if (std::exchange(place_, Place::kBehind) != Place::kInside) {
      *error = "it is the end of a dump without its begin";
    } else if (end->records != records_) {
      *error = "the dump had " + std::to_string(end->records) + " records, and here are " +
               std::to_string(records_);
    } else {
      return true;
    }
    return false;
  }
  ++records_;
  if (place_ != Place::kBehind) return true;
  *error = "it is behind the end of the dump";
  return false;
}

bool DumpFrame::AtEnd(std::string* error) const {
  if (place_ != Place::kInside || WQ_MUTANT(cut_dump_is_taken)) return true;
  *error = "the dump was cut short after " + std::to_string(records_) +
           " records: it has no end. Dump the store again; without the line of its begin, what is "
           "here is taken as it is";
  return false;
}

struct ImportRecord {
  wq::Importer* importer;

  wq::Status operator()(const wq::QueueInfo& info) const { return importer->SetQueue(info); }
  wq::Status operator()(const DumpedCursor& cursor) const {
    return importer->SetCursor(cursor.queue, cursor.name, cursor.value);
  }
  wq::Status operator()(const DumpedSource& dumped) const {
    return importer->SetSource(dumped.queue, dumped.source);
  }
  wq::Status operator()(const DumpedObject& dumped) const {
    return importer->AddObject(dumped.queue, dumped.object);
  }
  wq::Status operator()(const DumpedLimits&) const { return {}; }
  wq::Status operator()(const DumpBegin&) const { return {}; }
  wq::Status operator()(const DumpEnd&) const { return {}; }
  wq::Status operator()(const DumpedEntry& dumped) const {
    return importer->Add(dumped.queue, dumped.entry);
  }
};

int FailLine(const KeyReader::Line& line, const std::string& why, int code) {
  LogError("line " + std::to_string(line.number) + ": " + why + "; nothing was loaded");
  return code;
}

int LoadLine(const KeyReader::Line& line, DumpFrame* frame, bool* warned, wq::Importer* importer) {
  if (line.bytes == 0) return kExitOk;  // An empty line, as between concatenated dumps.
  std::string error;
  if (line.bytes > kMaxDumpLineBytes) {
    error = "it is longer than " + std::to_string(kMaxDumpLineBytes) + " bytes";
    return FailLine(line, error, kExitFailure);
  }
  DumpRecord record;
  if (!ParseDumpLine(line.text, &record, &error) || !frame->Take(record, &error)) {
    return FailLine(line, error, kExitFailure);
  }
  if (std::holds_alternative<DumpedLimits>(record) && !std::exchange(*warned, true)) {
    LogWarning("the dump has limits of groups: they are options of a queue now, and left out");
  }
  wq::Status s = std::visit(ImportRecord{importer}, record);
  if (s.ok()) return kExitOk;
  std::string why = s.message();
  if (s.code() == wq::StatusCode::kAlreadyExists) why += ": --replace overwrites it";
  // The data is invalid, not the command line.
  const int code = ExitCodeOf(s);
  return FailLine(line, why, code == kExitUsage ? static_cast<int>(kExitFailure) : code);
}

int FailInterrupted(const wq::ImportCounts& counts) {
  LogError("interrupted after " + std::to_string(counts.entries) +
           " entries; nothing was loaded, and the queues are as before: load the dump again");
  return kExitFailure;
}

int LoadAll(int fd, wq::Importer* importer, ProgressLine* progress) {
  KeyReader reader(fd, '\n', kMaxDumpLineBytes);
  DumpFrame frame;
  bool warned = false;  // Of what is left out.
  while (reader.ReadMore()) {
    for (const KeyReader::Line& line : reader.lines()) {
      if (const int code = LoadLine(line, &frame, &warned, importer); code != kExitOk) return code;
      progress->Add();
    }
    progress->Read(reader.bytes_read(), reader.bytes_in_file());
    if (Interrupted()) break;
  }
  if (Interrupted()) return FailInterrupted(importer->counts());
  std::string error;
  if (reader.error() == 0 && frame.AtEnd(&error)) return kExitOk;
  if (reader.error() == 0) {
    LogError(error + "; nothing was loaded");
    return kExitFailure;
  }
  LogError("cannot read: " + ErrnoText(reader.error()) + "; nothing was loaded");
  return kExitFailure;
}

int PrintLoaded(const wq::ImportCounts& counts, const LoadArgs& args) {
  Output out;
  out.Write(OutcomeText({{{"queues", counts.queues},
                          {"entries", counts.entries},
                          {"cursors", counts.cursors},
                          {"objects", counts.objects, false}},
                         args.options.dry_run ? "to be loaded: " : "loaded ",
                         args.options.dry_run},
                        args.format));
  return out.Finish(kExitOk);
}

int Run(const LoadArgs& args) {
  const InterruptScope interrupts;
  const wq::FileDescriptor source(args.file == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                   : open(args.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source.valid()) {
    LogError("cannot open " + wq::EscapeKey(args.file, 4096) + ": " + ErrnoText(errno));
    return kExitFailure;
  }
  std::unique_ptr<wq::Importer> importer;
  if (wq::Status s = wq::Importer::Open(args.options, args.store_dir, &importer); !s.ok()) {
    if (s.code() == wq::StatusCode::kLocked) {
      return Fail(wq::Status::Locked(
          s.message() +
          ": load does not go through an owner, even if it serves a socket; end it first"));
    }
    // The directory's contents are invalid, not the command line.
    const int code = Fail(s);
    return code == kExitUsage ? static_cast<int>(kExitFailure) : code;
  }
  ProgressLine progress({.name = "load", .unit = "keys"});
  if (const int code = LoadAll(source.get(), importer.get(), &progress); code != kExitOk) {
    return code;
  }
  progress.Begin({.name = "load: finishing"});
  if (wq::Status s = importer->Finish(); !s.ok()) return Fail(s);
  return PrintLoaded(importer->counts(), args);
}

}  // namespace

Command ParseLoad(const Input& input) {
  LoadArgs args;
  VerbParser parser(input, {"Writes the output of dump into a store.", " [FILE|-]", kLoadExamples},
                    &args.store_dir);
  parser.Flag("--replace", "Replace existing queues by the queues in FILE", &args.options.replace);
  parser.Flag("--dry-run", "Check everything, and write nothing", &args.options.dry_run);
  AddFormat(&parser, kOutcomeFormats, &args.format);
  Words files = parser.Parse();
  if (files.size() > 1) Usage("one FILE can be loaded at a time");
  if (!files.empty()) args.file = std::move(files.front());
  if (args.file == "-") RequireStdin();
  return args;
}

}  // namespace wqctl

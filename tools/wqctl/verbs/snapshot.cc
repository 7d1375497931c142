// wqctl snapshot create, ls and restore: copies of a store as of one instant.
#include <string>
#include <utility>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/show.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/text/progress.h"
#include "wq/keys.h"
#include "wq/snapshot.h"
#include "wq/verify.h"

namespace wqctl {
namespace {

constexpr const char* kCreateExamples =
    R"(Makes a snapshot: a new directory below DIR, which is made if it is missing. Every verb
that only reads accepts a snapshot as a store. Works beside a running owner, and after a
crash. All acknowledged changes are in it. In the store's file system the tables are hard
links; in another file system they are copied, except those that the latest snapshot in
DIR already has. The snapshot is verified before it gets its name. Prints its path.

Examples:
  wqctl snapshot create /var/backups/pods
  wqctl snapshot create --name before-upgrade /var/backups/pods
  snapshot=$(wqctl snapshot create /var/backups/pods) && wqctl --store "$snapshot" inspect)";

constexpr const char* kSnapshotLsExamples =
    R"(Oldest first. LINKED is the part of SIZE in tables that the store or other snapshots
share. DIR may be one snapshot.

Examples:
  wqctl snapshot ls /var/backups/pods
  wqctl snapshot ls /var/backups/pods -o name | head -n -7 | xargs -d '\n' rm -r --)";

constexpr const char* kRestoreExamples =
    R"(DIR is one snapshot, or a directory of snapshots, of which the latest is restored. NEW must
not exist, or be an empty directory. The snapshot is copied and verified before the store
gets its name, and stays unchanged. The new store has its own uuid.

Examples:
  wqctl snapshot restore /var/backups/pods --into /var/lib/pods.new
  wqctl snapshot restore /var/backups/pods/before-upgrade --into /var/lib/pods.new)";

struct SnapshotCreateArgs {
  std::string store_dir;
  std::string dir;
  std::string name;
  bool copy = false;
  Format format = Format::kText;
};

struct SnapshotLsArgs {
  std::string dir;
  Show show;
  Format format = Format::kTable;
};

struct SnapshotRestoreArgs {
  std::string dir;
  std::string into;
  Format format = Format::kText;
};

// Prints the text, or the snapshot as one JSON object. Returns the exit code.
int Print(Format format, std::string text, const wq::SnapshotInfo& snapshot) {
  if (format != Format::kText) {
    text.clear();
    AppendSnapshotJson(snapshot, &text);
  }
  return PrintLine(text);
}

int Run(const SnapshotCreateArgs& args) {
  const InterruptScope interrupts;
  wq::SnapshotInfo taken;
  ProgressLine progress({.name = "snapshot create"});
  const wq::SnapshotOptions options = {.name = args.name,
                                       .link_tables = !args.copy,
                                       .cancelled = Interrupted,
                                       .progress = progress.StepsOf("snapshot create")};
  if (wq::Status s = wq::CreateSnapshot(args.store_dir, args.dir, options, &taken); !s.ok())
    return Fail(s);
  return Print(args.format, taken.path, taken);
}

int Run(const SnapshotLsArgs& args) {
  std::vector<wq::SnapshotInfo> all;
  if (wq::Status s = wq::ListSnapshots(args.dir, &all); !s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, {"NAME", "TAKEN", "SIZE", "LINKED", "STORE"}, &out);
  for (const wq::SnapshotInfo& snapshot : all) {
    listing.Row([&](std::string* json) { AppendSnapshotJson(snapshot, json); },
                [&] {
                  return std::vector<std::string>{
                      wq::EscapeKey(snapshot.name),
                      snapshot.taken_at_us == 0 ? "?" : args.show.Ago(snapshot.taken_at_us),
                      FormatBytes(snapshot.bytes), FormatBytes(snapshot.linked_bytes),
                      snapshot.uuid.empty() ? "?" : wq::EscapeKey(snapshot.uuid)};
                },
                [&] { return snapshot.path + "\n"; });
  }
  listing.End(true);
  return out.Finish(kExitOk);
}

int Run(const SnapshotRestoreArgs& args) {
  const InterruptScope interrupts;
  wq::SnapshotInfo from;
  ProgressLine progress({.name = "snapshot restore"});
  const wq::RestoreOptions options = {.cancelled = Interrupted,
                                      .progress = progress.StepsOf("snapshot restore")};
  wq::Status s = wq::RestoreSnapshot(args.dir, args.into, options, &from);
  if (!s.ok()) return Fail(s);
  return Print(
      args.format,
      "restored " + wq::EscapeKey(from.path, 4096) + " into " + wq::EscapeKey(args.into, 4096),
      from);
}

// Parses the command line of every snapshot verb: one DIR.
std::string OneDirectory(VerbParser* parser) {
  Words words = parser->Parse();
  if (words.size() != 1) Usage("which directory? Give one DIR");
  if (words.front().empty()) Usage("the name of the directory is empty");
  return std::move(words.front());
}

}  // namespace

Command ParseSnapshotCreate(const Input& input) {
  SnapshotCreateArgs args;
  VerbParser parser(
      input,
      {"Copies a store as it is now, to a new directory below DIR.", " DIR", kCreateExamples},
      &args.store_dir);
  // The library checks the rest.
  parser.NonEmpty("--name", "NAME", "The snapshot's name; default: the time", &args.name);
  parser.Flag("--copy", "Copy the tables even if they could be links", &args.copy);
  AddFormat(&parser, kOutcomeFormats, &args.format);
  args.dir = OneDirectory(&parser);
  return args;
}

Command ParseSnapshotLs(const Input& input) {
  SnapshotLsArgs args;
  VerbParser parser(input, {"Lists the snapshots in DIR.", " DIR", kSnapshotLsExamples}, nullptr);
  AddTimeOptions(&parser, &args.show);
  AddFormat(&parser, kListingFormats, &args.format);
  args.dir = OneDirectory(&parser);
  return args;
}

Command ParseSnapshotRestore(const Input& input) {
  SnapshotRestoreArgs args;
  VerbParser parser(
      input, {"Makes a new store of a snapshot.", " DIR --into NEW", kRestoreExamples}, nullptr);
  parser.Required("--into", "NEW", "The directory of the new store: missing or empty", &args.into);
  AddFormat(&parser, kOutcomeFormats, &args.format);
  args.dir = OneDirectory(&parser);
  return args;
}

}  // namespace wqctl

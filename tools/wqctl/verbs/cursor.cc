// wqctl cursor ls, cursor get: the cursors of sources. Changes nothing.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/output.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kCursorLsExamples =
    R"(Shows the names and sizes. Works beside a living owner and after a crash.

Examples:
  wqctl cursor ls
  wqctl cursor ls -q pods -o json)";

constexpr const char* kCursorGetExamples =
    R"(Writes the bytes as they are, without a line end. Works beside a living owner and
after a crash.

Examples:
  wqctl cursor get -q pods resource-version
  wqctl cursor get -q pods offset | xxd)";

struct CursorLsArgs {
  std::string store_dir;
  std::optional<std::string> queue;
  Format format = Format::kTable;
};

struct CursorGetArgs {
  std::string store_dir;
  std::string queue;
  std::string name;
};

int Run(const CursorLsArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> queues;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &queues);
  if (!s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, {"QUEUE", "CURSOR", "BYTES"}, &out);
  for (const std::string& queue : queues) {
    std::map<std::string, std::string> cursors;
    if (s = view->Cursors(queue, &cursors); !s.ok()) {
      listing.End(false);
      return out.Finish(Fail(s));
    }
    for (const auto& [name, value] : cursors) {
      const auto row = [&, &cursor = name, bytes = value.size()] {
        return std::vector<std::string>{wq::EscapeKey(queue), wq::EscapeKey(cursor),
                                        std::to_string(bytes)};
      };
      const auto json = [&, &cursor = name, bytes = value.size()](std::string* text) {
        AppendCursorJson(queue, cursor, bytes, text);
      };
      const auto name_line = [&cursor = name] { return wq::EscapeKey(cursor) + "\n"; };
      if (!listing.Row(json, row, name_line)) break;
    }
  }
  listing.End(true);
  return out.Finish(kExitOk);
}

int Run(const CursorGetArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  std::vector<std::string> queues;
  wq::Status s = ViewQueues(args.store_dir, args.queue, &view, &queues);
  if (!s.ok()) return Fail(s);
  std::map<std::string, std::string> cursors;
  if (s = view->Cursors(args.queue, &cursors); !s.ok()) return Fail(s);
  const auto cursor = cursors.find(args.name);
  if (cursor == cursors.end()) {
    return Fail(wq::Status::NotFound("queue \"" + wq::EscapeKey(args.queue) +
                                     "\" has no cursor \"" + wq::EscapeKey(args.name) + "\""));
  }
  Output out;
  out.Write(cursor->second);
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseCursorLs(const Input& input) {
  CursorLsArgs args;
  VerbParser parser(input, {"Lists the cursors of the queues.", "", kCursorLsExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddFormat(&parser, kListingFormats, &args.format);
  parser.ParseWithoutArguments();
  return args;
}

Command ParseCursorGet(const Input& input) {
  CursorGetArgs args;
  VerbParser parser(input, {"Prints the bytes of one cursor.", " NAME", kCursorGetExamples},
                    &args.store_dir);
  AddQueue(&parser, &args.queue);
  Words names = parser.Parse();
  if (names.size() != 1) Usage("which cursor? Give one NAME");
  args.name = std::move(names.front());
  return args;
}

}  // namespace wqctl

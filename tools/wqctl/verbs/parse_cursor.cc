// The command lines of cursor ls and cursor get.
#include <utility>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/verbs/verbs.h"

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

}  // namespace

Command ParseCursorLs(const Input& input) {
  CursorLsArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser({"cursor ls", "Lists the cursors of the queues.", "", kCursorLsExamples},
                    &args.store_dir);
  AddOnlyQueue(&parser, &args.queue);
  AddListingFormat(&parser, &args.format);
  parser.Parse(input.words);
  NoMore(Concatenate(parser.positionals(), input.behind));
  return args;
}

Command ParseCursorGet(const Input& input) {
  CursorGetArgs args;
  args.store_dir = input.store_dir;
  VerbParser parser({"cursor get", "Prints the bytes of one cursor.", " NAME", kCursorGetExamples},
                    &args.store_dir);
  AddQueue(&parser, &args.queue);
  parser.Parse(input.words);
  Words names = Concatenate(parser.positionals(), input.behind);
  if (names.size() != 1) Usage("which cursor? Give one NAME");
  args.name = std::move(names.front());
  return args;
}

}  // namespace wqctl

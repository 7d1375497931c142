#include "tools/wqctl/cli/history_args.h"

#include "tools/wqctl/text/number.h"

namespace wqctl {
namespace {

std::optional<uint64_t> ParseHistoryBytes(std::string_view text) {
  const std::optional<uint64_t> bytes = ParseNumber<uint64_t>(text);
  const bool valid = bytes && (*bytes == 0 || *bytes >= (uint64_t{1} << 20));
  return valid ? bytes : std::nullopt;
}

std::optional<std::chrono::microseconds> ParseHistoryAge(std::string_view text) {
  const std::optional<std::chrono::microseconds> age = ParseDuration(text);
  const bool valid = age && (age->count() == 0 || *age >= std::chrono::minutes(1));
  return valid ? age : std::nullopt;
}

}  // namespace

void AddHistoryOptions(VerbParser* parser, HistoryArgs* args) {
  AddParsed(parser, "--history-bytes", "N",
            "Record the last events of each key, in N bytes; 0: none; default 67108864",
            "a number of bytes, 0 or at least 1048576", ParseHistoryBytes, &args->bytes);
  AddParsed(parser, "--history-age", "DURATION",
            "Delete events that are older; default 0s: when --history-bytes are used up",
            "a duration of at least a minute, such as 168h, or 0s", ParseHistoryAge, &args->age);
}

void SetHistory(const HistoryArgs& args, wq::StoreOptions* options) {
  options->history_bytes = args.bytes;
  options->history_age = args.age;
}

}  // namespace wqctl

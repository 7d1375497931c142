#include "options.h"

#include <getopt.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace mirror {
namespace {

constexpr char kUsage[] =
    "usage: mirror SRC DST --store DIR [options]\n"
    "Keeps the directory DST equal to the directory SRC. What DST has and SRC lacks is deleted.\n"
    "  --store DIR     the directory of the queue; created if it is missing\n"
    "  --workers N     paths that are reconciled at once (4)\n"
    "  --once          exit when DST is equal: 0, or 1 if some paths keep failing\n"
    "  --rescan        compare everything, also what has not changed since the last run\n";

bool IsIn(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end == outer.end();
}

}  // namespace

std::optional<Options> ParseOptions(int argc, char** argv) {
  const std::array<option, 5> known = {{{"store", required_argument, nullptr, 'd'},
                                        {"workers", required_argument, nullptr, 'w'},
                                        {"once", no_argument, nullptr, 'o'},
                                        {"rescan", no_argument, nullptr, 'r'},
                                        {nullptr, 0, nullptr, 0}}};
  Options options;
  bool is_fine = true;
  for (int option = 0;
       is_fine && (option = getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
    if (option == 'd') {
      options.store = optarg;
    } else if (option == 'w') {  // Controller::Start checks the bounds.
      const char* const end = optarg + std::strlen(optarg);
      const auto [at, error] = std::from_chars(optarg, end, options.workers);
      is_fine = error == std::errc() && at == end;
    } else {
      options.once = options.once || option == 'o';
      options.rescan = options.rescan || option == 'r';
      is_fine = option != '?';
    }
  }
  if (!is_fine || argc - optind != 2 || options.store.empty()) {
    std::fputs(kUsage, stderr);
    return std::nullopt;
  }
  options.source = argv[optind];
  options.target = argv[optind + 1];
  return options;
}

std::string Resolve(Options* options) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(options->source, error)) {
    return options->source + " is not a directory";
  }
  fs::create_directories(options->target, error);
  if (!fs::is_directory(options->target, error)) {
    return options->target + " is not a directory";
  }
  for (std::string* path : {&options->source, &options->target, &options->store}) {
    *path = fs::weakly_canonical(fs::absolute(*path), error).string();
    if (error) {
      return error.message();
    }
  }
  const std::array<std::string*, 3> paths = {&options->source, &options->target, &options->store};
  for (const std::string* inner : paths) {
    for (const std::string* outer : paths) {
      if (inner != outer && IsIn(*inner, *outer)) {
        return *inner + " is inside " + *outer;
      }
    }
  }
  return {};
}

}  // namespace mirror

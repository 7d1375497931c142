// wqctl init: makes a new, empty store.
#include <memory>
#include <string>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "wq/keys.h"
#include "wq/store.h"

namespace wqctl {
namespace {

constexpr const char* kInitExamples = R"(Examples:
  wqctl --store /var/lib/pods init
  WQ_STORE=/var/lib/pods wqctl init)";

struct InitArgs {
  std::string store_dir;
};

int Run(const InitArgs& args) {
  wq::StoreOptions options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  std::unique_ptr<wq::Store> store;
  if (wq::Status s = wq::Store::Open(options, args.store_dir, &store); !s.ok()) {
    const int code = Fail(s);
    // NotFound is about the parent directory, and InvalidArgument about the directory's contents:
    // the codes for a missing store and for bad usage would mislead.
    return code == kExitNotFound || code == kExitUsage ? kExitFailure : code;
  }
  const std::string uuid = store->uuid();
  if (wq::Status s = store->Close(); !s.ok()) return Fail(s);

  Output out;
  out.Write("created store " + wq::EscapeKey(args.store_dir, 4096) + ", uuid " + uuid + "\n");
  return out.Finish(kExitOk);
}

}  // namespace

Command ParseInit(const Input& input) {
  InitArgs args;
  VerbParser parser(input, {"Makes a new, empty store.", "", kInitExamples}, &args.store_dir);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl

// wqctl init: makes a new, empty store if there is none.
#include <memory>
#include <string>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "wq/keys.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wqctl {
namespace {

constexpr const char* kInitExamples =
    R"(A store that exists is left unchanged, and is no error unless --new is given: so a service
can run init each time before it starts.

Examples:
  wqctl --store /var/lib/pods init
  wqctl init --new
  ExecStartPre=/usr/bin/wqctl --store /var/lib/pods init)";

struct InitArgs {
  std::string store_dir;
  bool must_be_new = false;
};

int Print(const std::string& what, const InitArgs& args, const std::string& uuid) {
  return PrintLine(what + wq::EscapeKey(args.store_dir, 4096) + ", uuid " + uuid);
}

// A view checks the store, also beside its owner, and changes nothing.
int ShowExisting(const InitArgs& args) {
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(args.store_dir, &view); !s.ok()) return Fail(s);
  if (view->info().snapshot_at_us != 0) {
    return Fail(wq::Status::AlreadyExists(wq::EscapeKey(args.store_dir, 4096) +
                                          " is a snapshot, which no process can own"));
  }
  return Print("found store ", args, view->info().uuid);
}

int Run(const InitArgs& args) {
  wq::StoreOptions options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  std::unique_ptr<wq::Store> store;
  if (wq::Status s = wq::Store::Open(options, args.store_dir, &store); !s.ok()) {
    if (s.code() == wq::StatusCode::kAlreadyExists && !args.must_be_new) return ShowExisting(args);
    const int code = Fail(s);
    // NotFound is about the parent directory, and InvalidArgument about the directory's contents:
    // the codes for a missing store and for bad usage would mislead.
    return code == kExitNotFound || code == kExitUsage ? kExitFailure : code;
  }
  const std::string uuid = store->uuid();
  if (wq::Status s = store->Close(); !s.ok()) return Fail(s);
  return Print("created store ", args, uuid);
}

}  // namespace

Command ParseInit(const Input& input) {
  InitArgs args;
  VerbParser parser(input, {"Makes a new, empty store if there is none.", "", kInitExamples},
                    &args.store_dir);
  parser.Flag("--new", "Fail if the store exists", &args.must_be_new);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl

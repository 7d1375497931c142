// wqctl init: makes a new, empty store.
#include <memory>
#include <string>

#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/verbs.h"
#include "wq/keys.h"
#include "wq/store.h"

namespace wqctl {

int Run(const InitArgs& args) {
  wq::StoreOptions options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  std::unique_ptr<wq::Store> store;
  if (wq::Status s = wq::Store::Open(options, args.store_dir, &store); !s.ok()) {
    const int code = Fail(s);
    // What was not found is a parent directory, and what was invalid is the directory's contents:
    // the codes for a missing store and for bad usage would mislead.
    return code == kExitNotFound || code == kExitUsage ? kExitFailure : code;
  }
  const std::string uuid = store->uuid();
  if (wq::Status s = store->Close(); !s.ok()) return Fail(s);

  Output out;
  out.Write("created store " + wq::EscapeKey(args.store_dir, 4096) + ", uuid " + uuid + "\n");
  return out.Finish(kExitOk);
}

}  // namespace wqctl

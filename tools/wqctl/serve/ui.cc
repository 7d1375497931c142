// wqctl ui: the live page of a store that nobody serves. Changes nothing.
#include <chrono>
#include <memory>
#include <string>

#include "tools/wqctl/cli/parse_verbs.h"
#include "tools/wqctl/signals/stop_signals.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/output.h"
#include "wq/server.h"

namespace wqctl {
namespace {

constexpr const char* kUiExamples =
    R"(Shows the store on a page in the browser, until SIGTERM, SIGINT or SIGHUP. Nothing of the
store is changed: it may have an owner, may be closed, or may have crashed. It is read as it is on
disk, so keys that a worker holds are shown as queued. A store that wqctl serve or a
program serves has a page of its own, on which keys can be changed: see serve --http.

Examples:
  wqctl --store /var/lib/wq/main ui
  wqctl ui --http 127.0.0.1:8080)";

struct UiArgs {
  std::string store_dir;
  wq::ViewServerOptions options = {.http_address = "127.0.0.1:0"};
};

std::string Url(const UiArgs& args, const wq::ViewServer& server) {
  const std::string& address = args.options.http_address;
  return "http://" + address.substr(0, address.rfind(':') + 1) +
         std::to_string(server.http_port()) + "/ui/";
}

int Run(const UiArgs& args) {
  const StopSignals signals;
  std::unique_ptr<wq::ViewServer> server;
  {
    const StopGuard guard(signals, StopGuard::During::kShowing);
    wq::Status s = wq::ViewServer::Open(args.store_dir, args.options, &server);
    if (!s.ok()) return Fail(s);
    Output out;
    out.Write("open " + Url(args, *server) + "\n");
    out.Flush();  // A reader that has gone does not end the server.
  }
  while (signals.WaitFor(std::chrono::hours(1))) {
  }
  const StopGuard guard(signals, StopGuard::During::kStopped);
  server.reset();
  return kExitOk;
}

}  // namespace

Command ParseUi(const Input& input) {
  UiArgs args;
  VerbParser parser(input, {"Shows a store that nobody serves on a live page.", "", kUiExamples},
                    &args.store_dir);
  parser.Text("--http", "HOST:PORT", "Serve the page here; default 127.0.0.1:0, any free port",
              &args.options.http_address);
  parser.Flag("--http-any-address",
              "Let --http be reachable from other machines; the page then needs --token-file",
              &args.options.http_any_address);
  parser.Text("--token-file", "FILE", "The page asks for the token in FILE",
              &args.options.token_file);
  parser.ParseWithoutArguments();
  return args;
}

}  // namespace wqctl

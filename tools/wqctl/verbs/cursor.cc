// wqctl cursor ls, cursor get: what sources keep to resume from. Changes nothing.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/output.h"
#include "tools/wqctl/verbs/verbs.h"
#include "wq/keys.h"
#include "wq/store_view.h"

namespace wqctl {

int Run(const CursorLsArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(args.store_dir, &view); !s.ok()) return Fail(s);
  std::vector<std::string> queues;
  if (wq::Status s = QueuesOf(*view, args.queue, &queues); !s.ok()) return Fail(s);
  Output out;
  Listing listing(args.format, {"QUEUE", "CURSOR", "BYTES"}, &out);
  for (const std::string& queue : queues) {
    std::map<std::string, std::string> cursors;
    if (wq::Status s = view->Cursors(queue, &cursors); !s.ok()) {
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
      if (!listing.Row(json, row)) break;
    }
  }
  listing.End(true);
  return out.Finish(kExitOk);
}

int Run(const CursorGetArgs& args) {
  const InterruptScope interrupts;
  std::unique_ptr<wq::StoreView> view;
  if (wq::Status s = wq::StoreView::Open(args.store_dir, &view); !s.ok()) return Fail(s);
  std::vector<std::string> queues;
  if (wq::Status s = QueuesOf(*view, args.queue, &queues); !s.ok()) return Fail(s);
  std::map<std::string, std::string> cursors;
  if (wq::Status s = view->Cursors(args.queue, &cursors); !s.ok()) return Fail(s);
  const auto cursor = cursors.find(args.name);
  if (cursor == cursors.end()) {
    return Fail(wq::Status::NotFound("queue \"" + wq::EscapeKey(args.queue) +
                                     "\" has no cursor \"" + wq::EscapeKey(args.name) + "\""));
  }
  Output out;
  out.Write(cursor->second);
  return out.Finish(kExitOk);
}

}  // namespace wqctl

#include "tools/wqctl/cli/open_queue.h"

#include "tools/wqctl/cli/queues.h"
#include "tools/wqctl/text/number.h"

namespace wqctl {

wq::QueueOptions ToolQueueOptions() {
  wq::QueueOptions options;
  options.order = wq::Order::kPriorities;
  options.re_add = wq::ReAdd::kSetsLane;
  return options;
}

wq::Status OpenQueue(const std::string& store_dir, const std::string& queue,
                     const wq::QueueOptions& options, OpenedQueue* opened) {
  if (wq::Status s = wq::Store::Open({}, store_dir, &opened->store); !s.ok()) return s;
  return ExplainMissing(store_dir, queue, opened->store->OpenQueue(queue, options, &opened->queue));
}

}  // namespace wqctl

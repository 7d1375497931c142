#include "tools/wqctl/verbs/reach.h"

#include <poll.h>

#include <chrono>

#include "tools/wqctl/cli/open_queue.h"
#include "tools/wqctl/cli/queues.h"
#include "wq/live_store.h"

namespace wqctl {
namespace {

// An owner may have just started, or be about to end: then it does not serve the store for a short
// time.
constexpr auto kReachTime = std::chrono::milliseconds{500};
constexpr int kRetryMs = 10;

wq::Status OpenAsOwner(const std::string& store_dir, const std::string& queue,
                       const ReachOptions& options, ReachedQueue* reached) {
  wq::QueueOptions queue_options = ToolQueueOptions();
  queue_options.create_if_missing = options.create;
  queue_options.durability = options.durability;
  OpenedQueue opened;
  if (wq::Status s = OpenQueue(store_dir, queue, queue_options, nullptr, &opened); !s.ok())
    return s;
  reached->store = std::move(opened.store);
  reached->access = wq::AccessTo(opened.queue);
  return wq::Status::Ok();
}

// Makes the owner open the queue, and create it with `create`, so that errors are known before any
// change, as when we open it ourselves.
wq::Status AskForQueue(bool create, wq::QueueAccess* access) {
  wq::BatchResult nothing_added;
  wq::ChangeResult nothing_changed;
  return create ? access->Add({}, {}, &nothing_added)
                : access->Change(wq::KeyChange::kRemove, {}, {.durability = wq::Durability::kAsync},
                                 &nothing_changed);
}

}  // namespace

wq::Status ReachedQueue::Close() const {
  return store == nullptr ? wq::Status::Ok() : store->Close();
}

wq::Status ReachQueue(const std::string& store_dir, const std::string& queue,
                      const ReachOptions& options, ReachedQueue* reached) {
  const auto give_up = std::chrono::steady_clock::now() + kReachTime;
  while (true) {
    wq::Status locked = OpenAsOwner(store_dir, queue, options, reached);
    if (locked.code() != wq::StatusCode::kLocked) return locked;
    std::unique_ptr<wq::LiveStore> live;
    wq::Status s = wq::LiveStore::Connect(store_dir, &live);
    if (s.ok()) {
      reached->access = live->Access(queue, options.create);
      s = AskForQueue(options.create, reached->access.get());
      if (s.code() != wq::StatusCode::kIOError) return ExplainMissing(store_dir, queue, s);
    } else if (s.code() == wq::StatusCode::kNotFound) {
      s = wq::Status::Locked(locked.message() + kServesNothing);
    } else {
      return s;
    }
    if (std::chrono::steady_clock::now() >= give_up) return s;
    poll(nullptr, 0, kRetryMs);
  }
}

wq::Status CheckOwnerServes(const wq::StoreView& view) {
  if (!view.info().owner_alive) return {};
  std::unique_ptr<wq::LiveStore> live;
  wq::Status s = wq::LiveStore::Connect(view.info().dir, &live);
  if (s.code() != wq::StatusCode::kNotFound) return s;
  return wq::Status::Locked("the store is owned by " + view.DescribeOwner() + kServesNothing);
}

}  // namespace wqctl

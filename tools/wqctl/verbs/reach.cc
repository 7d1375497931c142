#include "tools/wqctl/verbs/reach.h"

#include <poll.h>

#include <chrono>
#include <utility>

#include "tools/wqctl/cli/queues.h"

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
  if (wq::Status s = OpenQueue(store_dir, queue, queue_options, &opened); !s.ok()) return s;
  reached->store = std::move(opened.store);
  reached->access = wq::AccessTo(opened.queue);
  return wq::Status::Ok();
}

// Makes the owner open the queue, and create it with `create`, so that errors are known before any
// change, as when we open it ourselves.
wq::Status AskForQueue(bool create, wq::QueueAccess* access) {
  wq::BatchResult nothing_added;
  wq::ChangeResult nothing_changed;
  return create ? access->Add({}, {}, {}, &nothing_added)
                : access->Change(wq::KeyChange::kRemove, {}, {.durability = wq::Durability::kAsync},
                                 &nothing_changed);
}

}  // namespace

wq::Status ReachedQueue::Close() const {
  return store == nullptr ? wq::Status::Ok() : store->Close();
}

wq::Status ReachStore(
    const std::string& store_dir, const std::function<wq::Status()>& open,
    const std::function<wq::Status(std::unique_ptr<wq::LiveStore> live)>& connected) {
  const auto give_up = std::chrono::steady_clock::now() + kReachTime;
  while (true) {
    wq::Status locked = open();
    if (locked.code() != wq::StatusCode::kLocked) return locked;
    std::unique_ptr<wq::LiveStore> live;
    wq::Status s = wq::LiveStore::Connect(store_dir, &live);
    if (s.ok()) {
      s = connected(std::move(live));
      if (s.code() != wq::StatusCode::kIOError) return s;
    } else if (s.code() == wq::StatusCode::kNotFound) {
      s = wq::Status::Locked(locked.message() + kServesNothing);
    } else {
      return s;
    }
    if (std::chrono::steady_clock::now() >= give_up) return s;
    poll(nullptr, 0, kRetryMs);
  }
}

wq::Status ReachQueue(const std::string& store_dir, const std::string& queue,
                      const ReachOptions& options, ReachedQueue* reached) {
  return ReachStore(
      store_dir, [&] { return OpenAsOwner(store_dir, queue, options, reached); },
      [&](std::unique_ptr<wq::LiveStore> live) {
        reached->access = live->Access(queue, options.create);
        return ExplainMissing(store_dir, queue, AskForQueue(options.create, reached->access.get()));
      });
}

wq::Status CheckOwnerServes(const wq::StoreView& view) {
  if (!view.info().owner_alive) return {};
  std::unique_ptr<wq::LiveStore> live;
  wq::Status s = wq::LiveStore::Connect(view.info().dir, &live);
  if (s.code() != wq::StatusCode::kNotFound) return s;
  return wq::Status::Locked("the store is owned by " + view.DescribeOwner() + kServesNothing);
}

}  // namespace wqctl

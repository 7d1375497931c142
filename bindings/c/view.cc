// The C interface: views.

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>

#include "bindings/c/border.h"
#include "bindings/c/key_call.h"
#include "bindings/c/objects.h"
#include "wq/store_view.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::Call;
using wq::c::CallbackScope;
using wq::c::NullArgument;
using wq::c::Registry;
using wq::c::ViewObject;

static_assert(WQ_PENDING == static_cast<int32_t>(wq::EntryState::kPending));
static_assert(WQ_DELAYED == static_cast<int32_t>(wq::EntryState::kDelayed));
static_assert(WQ_FAILING == static_cast<int32_t>(wq::EntryState::kFailing));
static_assert(WQ_QUARANTINED == static_cast<int32_t>(wq::EntryState::kQuarantined));

constexpr size_t kDefaultTop = 10;

// `body(view)`, one at a time.
template <typename Body>
wq_code ViewCall(wq_view view, wq_error* error, const Body& body) noexcept {
  return Call<ViewObject>(view.handle, error, [&](ViewObject& v) -> Status {
    const std::thread::id self = std::this_thread::get_id();
    if (v.user.load() == self) {
      return Status::InvalidArgument("a visitor must not call its view");
    }
    const std::lock_guard lock(v.mu);
    struct User {
      explicit User(std::atomic<std::thread::id>* slot) : slot_(slot) {
        slot_->store(std::this_thread::get_id());
      }
      ~User() { slot_->store({}); }
      User(const User&) = delete;
      User& operator=(const User&) = delete;
      std::atomic<std::thread::id>* const slot_;
    };
    const User user(&v.user);
    return body(*v.view);
  });
}

// The same for what visits a queue.
template <typename Visit, typename Body>
wq_code VisitCall(wq_view view, const char* queue, Visit visit, wq_error* error,
                  const Body& body) noexcept {
  return ViewCall(view, error, [&](const wq::StoreView& v) -> Status {
    if (queue == nullptr || visit == nullptr) {
      return NullArgument("queue or visit");
    }
    return body(v);
  });
}

wq_failures FailuresOf(const wq::FailureInfo& failures) {
  return {.count = failures.count,
          .first_at_us = failures.first_at_us,
          .last_at_us = failures.last_at_us,
          .last_error = failures.last_error.data(),
          .last_error_size = failures.last_error.size()};
}

bool Show(const wq::Entry& entry, wq_visit_entry visit, void* arg) {
  wq_failures failures{};
  if (entry.failures.has_value()) {
    failures = FailuresOf(*entry.failures);
  }
  const wq_entry shown{.key = entry.key.data(),
                       .key_size = entry.key.size(),
                       .state = static_cast<int32_t>(entry.state),
                       .lane = entry.lane,
                       .group = entry.group.data(),
                       .group_size = entry.group.size(),
                       .has_shard = entry.shard.has_value() ? 1 : 0,
                       .shard = entry.shard.value_or(0),
                       .sequence = entry.sequence,
                       .added_at_us = entry.added_at_us,
                       .ready_at_us = entry.ready_at_us,
                       .delay_us = entry.delay_us,
                       .quarantined_at_us = entry.quarantined_at_us,
                       .failures = entry.failures.has_value() ? &failures : nullptr};
  const CallbackScope scope;
  return visit(arg, &shown) != 0;
}

auto VisitorOf(wq_visit_entry visit, void* arg) {
  return [visit, arg](const wq::Entry& entry) { return Show(entry, visit, arg); };
}

wq_queue_summary SummaryOf(const wq::QueueSummary& summary) {
  return {.size = 0,
          .pending = summary.pending,
          .other_lanes = summary.other_lanes,
          .delayed = summary.delayed,
          .failing = summary.failing,
          .quarantined = summary.quarantined,
          .paused = summary.paused ? 1 : 0,
          .paused_until_us = summary.paused_until_us.value_or(-1),
          .oldest_added_at_us = summary.oldest_added_at_us.value_or(-1),
          .next_ready_at_us = summary.next_ready_at_us.value_or(-1),
          .shards = summary.shards,
          .groups = summary.groups.count,
          .group_error = summary.groups.max_error,
          .other_cursors = summary.other_cursors};
}

void ShowLists(const wq::QueueSummary& summary, const wq_summary_visitor& visitor) {
  const CallbackScope scope;
  if (visitor.lane != nullptr) {
    for (const auto& [lane, pending] : summary.lanes) {
      visitor.lane(visitor.arg, lane, pending);
    }
  }
  if (visitor.failing != nullptr) {
    for (const wq::FailingKey& key : summary.top_failing) {
      const wq_failures failures = FailuresOf(key.failures);
      visitor.failing(visitor.arg, key.key.data(), key.key.size(), &failures);
    }
  }
  if (visitor.group != nullptr) {
    for (const wq::GroupDepth& group : summary.groups.top) {
      visitor.group(visitor.arg, group.group.data(), group.group.size(), group.pending);
    }
  }
  if (visitor.cursor != nullptr) {
    for (const auto& [name, size] : summary.cursors) {
      visitor.cursor(visitor.arg, name.c_str(), size);
    }
  }
}

}  // namespace

extern "C" {

wq_code wq_view_open(const char* dir, wq_view* view, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (dir == nullptr || view == nullptr) {
      return NullArgument("dir or view");
    }
    *view = WQ_NO_VIEW;
    auto object = std::make_unique<ViewObject>();
    wq::c::WatchForks();
    if (Status s = wq::StoreView::Open(dir, &object->view); !s.ok()) {
      return s;
    }
    view->handle = Registry::Instance().Insert(ViewObject::kKind, object.get());
    static_cast<void>(object.release());  // The registry's now.
    return {};
  });
}

wq_code wq_view_free(wq_view view, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (Status s = wq::c::NotInCallback("wq_view_free"); !s.ok()) {
      return s;
    }
    const std::unique_ptr<ViewObject> object(
        static_cast<ViewObject*>(Registry::Instance().Retire(ViewObject::kKind, view.handle)));
    if (object == nullptr) {
      return wq::c::BadHandle(ViewObject::kKind, view.handle);
    }
    Registry::Instance().WaitUnpinned(view.handle);
    Registry::Instance().Release(view.handle);
    return {};
  });
}

wq_code wq_view_info(wq_view view, wq_store_info* info, wq_error* error) {
  return ViewCall(view, error, [&](const wq::StoreView& v) -> Status {
    if (Status s = wq::c::CheckSized("info", info); !s.ok()) {
      return s;
    }
    const wq::StoreInfo& now = v.info();
    wq_store_info written{};
    std::copy_n(now.uuid.data(), std::min(now.uuid.size(), sizeof written.uuid - 1), written.uuid);
    written.format_version = now.format_version;
    written.created_at_us = now.created_at_us;
    written.owner_pid = now.owner_pid;
    written.owner_alive = now.owner_alive ? 1 : 0;
    wq::c::WriteSized(written, info);
    return {};
  });
}

wq_code wq_view_queue_names(wq_view view, wq_bytes* names, wq_error* error) {
  return ViewCall(view, error, [&](const wq::StoreView& v) {
    return wq::c::AssignKeys("names", v.QueueNames(), names);
  });
}

wq_code wq_view_summarize(wq_view view, const char* queue, wq_queue_summary* summary,
                          const wq_summary_visitor* visitor, wq_error* error) {
  return ViewCall(view, error, [&](const wq::StoreView& v) -> Status {
    if (queue == nullptr) {
      return NullArgument("queue");
    }
    if (Status s = wq::c::CheckSized("summary", summary); !s.ok()) {
      return s;
    }
    wq_summary_visitor lists;
    if (Status s = wq::c::ReadSized("visitor", visitor, &lists); !s.ok()) {
      return s;
    }
    wq::QueueSummary found;
    const wq::SummaryOptions options{
        .top_failing = lists.top_failing == 0 ? kDefaultTop : lists.top_failing,
        .top_groups = lists.top_groups == 0 ? kDefaultTop : lists.top_groups};
    if (Status s = v.Summarize(queue, options, &found); !s.ok()) {
      return s;
    }
    wq::c::WriteSized(SummaryOf(found), summary);
    ShowLists(found, lists);
    return {};
  });
}

wq_code wq_view_entries(wq_view view, const char* queue, wq_visit_entry visit, void* arg,
                        wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) {
    return v.ForEachEntry(queue, VisitorOf(visit, arg));
  });
}

wq_code wq_view_quarantined(wq_view view, const char* queue, wq_visit_entry visit, void* arg,
                            wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) {
    return v.ForEachQuarantined(queue, VisitorOf(visit, arg));
  });
}

wq_code wq_view_find(wq_view view, const char* queue, const char* key, size_t key_size,
                     wq_visit_entry visit, void* arg, wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) -> Status {
    if (Status s = wq::c::CheckInput("key", key, key_size); !s.ok()) {
      return s;
    }
    std::vector<wq::Entry> entries;
    if (Status s = v.Find(queue, {key, key_size}, &entries); !s.ok()) {
      return s;
    }
    static_cast<void>(std::all_of(entries.begin(), entries.end(), VisitorOf(visit, arg)));
    return {};
  });
}

wq_code wq_view_failing(wq_view view, const char* queue, wq_visit_failing visit, void* arg,
                        wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) {
    return v.ForEachFailing(queue, [&](const wq::FailingKey& key) {
      const wq_failures failures = FailuresOf(key.failures);
      const CallbackScope scope;
      return visit(arg, key.key.data(), key.key.size(), &failures) != 0;
    });
  });
}

wq_code wq_view_cursors(wq_view view, const char* queue, wq_visit_cursor visit, void* arg,
                        wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) -> Status {
    std::map<std::string, std::string> cursors;
    if (Status s = v.Cursors(queue, &cursors); !s.ok()) {
      return s;
    }
    return wq::c::VisitCursors(cursors, visit, arg);
  });
}

}  // extern "C"

// The C interface: views, and the entries, infos and cursors of their queues.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/entry.h"
#include "bindings/c/boundary/fork.h"
#include "bindings/c/boundary/limits.h"
#include "bindings/c/view_call.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::CallbackScope;
using wq::c::NullArgument;
using wq::c::ViewCall;
using wq::c::ViewObject;

// Checks the arguments of a call that visits entries of a queue, and calls `body(view)`.
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

bool Show(const wq::Entry& entry, wq_visit_entry visit, void* arg) {
  const wq::c::CEntry shown(entry);
  const CallbackScope scope;
  return visit(arg, shown.get()) != 0;
}

void ShowAll(const std::vector<wq::Entry>& entries, wq_visit_entry visit, void* arg) {
  static_cast<void>(std::all_of(entries.begin(), entries.end(),
                                [&](const wq::Entry& entry) { return Show(entry, visit, arg); }));
}

auto VisitorOf(wq_visit_entry visit, void* arg) {
  return [visit, arg](const wq::Entry& entry) { return Show(entry, visit, arg); };
}

}  // namespace

extern "C" {

wq_code wq_view_open(const char* dir, wq_view* view, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (dir == nullptr || view == nullptr) {
      return NullArgument("dir or view");
    }
    *view = WQ_NO_VIEW;
    wq::c::WatchForks();
    std::unique_ptr<wq::StoreView> opened;
    if (Status s = wq::StoreView::Open(dir, &opened); !s.ok()) {
      return s;
    }
    auto object = std::make_unique<ViewObject>(std::move(opened));
    view->handle = wq::c::Register(object);
    return {};
  });
}

wq_code wq_view_free(wq_view view, wq_error* error) {
  return wq::c::FreeInTurn<ViewObject>("wq_view_free", view.handle, error);
}

wq_code wq_view_info(wq_view view, wq_store_info* info, wq_error* error) {
  return ViewCall(view, error, [&](const wq::StoreView& v) -> Status {
    const wq::StoreInfo& now = v.info();
    wq_store_info written{};
    std::copy_n(now.uuid.data(), std::min(now.uuid.size(), sizeof written.uuid - 1), written.uuid);
    written.format_version = now.format_version;
    written.created_at_us = now.created_at_us;
    written.owner_pid = now.owner_pid;
    written.owner_alive = now.owner_alive ? 1 : 0;
    written.snapshot_at_us = now.snapshot_at_us;
    written.opened_at_us = now.opened_at_us;
    written.written_at_us = now.written_at_us;
    written.wal_bytes = now.wal_bytes;
    written.process_log_bytes = now.process_log_bytes;
    return wq::c::Output("info", written, info);
  });
}

wq_code wq_view_queue_names(wq_view view, wq_bytes* names, wq_error* error) {
  return ViewCall(view, error, [&](const wq::StoreView& v) {
    return wq::c::AssignKeys("names", v.QueueNames(), names);
  });
}

wq_code wq_view_entries(wq_view view, const char* queue, wq_visit_entry visit, void* arg,
                        wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) {
    return v.ForEachEntry(queue, VisitorOf(visit, arg));
  });
}

wq_code wq_view_entries_in(wq_view view, const char* queue, uint32_t states, wq_visit_entry visit,
                           void* arg, wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) {
    if (states >> wq::kEntryStateCount != 0) {
      return Status::InvalidArgument("states is " + std::to_string(states));
    }
    wq::EntryStates wanted;
    for (uint32_t state = 0; state < wq::kEntryStateCount; ++state) {
      if ((states >> state & 1U) != 0) {
        wanted.Add(static_cast<wq::EntryState>(state));
      }
    }
    return v.ForEachEntry(queue, wanted, VisitorOf(visit, arg));
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
    ShowAll(entries, visit, arg);
    return {};
  });
}

wq_code wq_view_find_all(wq_view view, const char* queue, const char* list, size_t list_size,
                         wq_visit_entry visit, void* arg, wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) -> Status {
    std::vector<std::string_view> keys;
    if (Status s = wq::c::ReadKeys("list", list, list_size, &keys); !s.ok()) {
      return s;
    }
    std::vector<wq::Entry> entries;
    if (Status s = v.FindAll(queue, {keys.begin(), keys.end()}, &entries); !s.ok()) {
      return s;
    }
    ShowAll(entries, visit, arg);
    return {};
  });
}

wq_code wq_view_position_of(wq_view view, const char* queue, const char* key, size_t key_size,
                            uint64_t max_counted, uint64_t* at_least, uint64_t* at_most,
                            wq_error* error) {
  return ViewCall(view, error, [&](const wq::StoreView& v) -> Status {
    if (queue == nullptr || at_least == nullptr || at_most == nullptr) {
      return NullArgument("queue, at_least or at_most");
    }
    if (Status s = wq::c::CheckInput("key", key, key_size); !s.ok()) {
      return s;
    }
    std::vector<wq::Entry> entries;
    if (Status s = v.Find(queue, {key, key_size}, &entries); !s.ok()) {
      return s;
    }
    const auto pending = std::find_if(entries.begin(), entries.end(), [](const wq::Entry& entry) {
      return entry.state == wq::EntryState::kPending;
    });
    if (pending == entries.end()) {
      return Status::NotFound("the key is not pending");
    }
    wq::KeyPosition position;
    if (Status s = v.PositionOf(queue, *pending, max_counted, &position); !s.ok()) {
      return s;
    }
    *at_least = position.at_least;
    *at_most = position.at_most;
    return {};
  });
}

wq_code wq_view_failing(wq_view view, const char* queue, wq_visit_failing visit, void* arg,
                        wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) {
    return v.ForEachFailing(queue, [&](const wq::FailingKey& key) {
      const wq_failures failures = wq::c::ToC(key.failures);
      const CallbackScope scope;
      return visit(arg, key.key.data(), key.key.size(), &failures) != 0;
    });
  });
}

wq_code wq_view_queue_info(wq_view view, const char* queue, wq_visit_queue_info visit, void* arg,
                           wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) -> Status {
    wq::QueueInfo info;
    if (Status s = v.Info(queue, &info); !s.ok()) {
      return s;
    }
    const wq_queue_info shown = wq::c::ToC(info);
    const CallbackScope scope;
    visit(arg, &shown);
    return {};
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

wq_code wq_view_limits(wq_view view, const char* queue, wq_visit_limits visit, void* arg,
                       wq_error* error) {
  return VisitCall(view, queue, visit, error, [&](const wq::StoreView& v) -> Status {
    std::map<std::string, wq::GroupLimits> limits;
    if (Status s = v.Limits(queue, &limits); !s.ok()) {
      return s;
    }
    return wq::c::VisitLimits(limits, visit, arg);
  });
}

}  // extern "C"

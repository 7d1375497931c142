// The C interface: snapshots.

#include "wq/snapshot.h"

#include <functional>
#include <string>
#include <vector>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/bytes.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/fork.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::NullArgument;

std::function<bool()> CancelledBy(int32_t (*cancelled)(void* arg), void* arg) {
  if (cancelled == nullptr) {
    return nullptr;
  }
  return [cancelled, arg] {
    const wq::c::CallbackScope scope;
    return cancelled(arg) != 0;
  };
}

// Calls `make(&info)` and assigns the path of the snapshot to `path`, which may be null.
template <typename Make>
Status MakeAndReturnPath(const char* what, wq_bytes* path, const Make& make) {
  if (Status s = path == nullptr ? Status::Ok() : wq::c::CheckOutput(what, path); !s.ok()) {
    return s;
  }
  wq::c::WatchForks();
  wq::SnapshotInfo info;
  if (Status s = make(&info); !s.ok()) {
    return s;
  }
  if (path != nullptr) {
    wq::c::Assign(info.path, path);
  }
  return {};
}

}  // namespace

extern "C" {

wq_code wq_snapshot_create(const char* store, const char* dir, const wq_snapshot_options* options,
                           wq_bytes* path, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (store == nullptr || dir == nullptr) {
      return NullArgument("store or dir");
    }
    wq_snapshot_options own;
    if (Status s = wq::c::ReadSized("options", options, &own); !s.ok()) {
      return s;
    }
    const wq::SnapshotOptions snapshot_options{.name = own.name == nullptr ? "" : own.name,
                                               .link_tables = own.copy_tables == 0,
                                               .cancelled = CancelledBy(own.cancelled, own.arg)};
    return MakeAndReturnPath("path", path, [&](wq::SnapshotInfo* info) {
      return wq::CreateSnapshot(store, dir, snapshot_options, info);
    });
  });
}

wq_code wq_snapshot_list(const char* dir, wq_visit_snapshot visit, void* arg, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (dir == nullptr || visit == nullptr) {
      return NullArgument("dir or visit");
    }
    std::vector<wq::SnapshotInfo> snapshots;
    if (Status s = wq::ListSnapshots(dir, &snapshots); !s.ok()) {
      return s;
    }
    const wq::c::CallbackScope scope;
    for (const wq::SnapshotInfo& info : snapshots) {
      const wq_snapshot_info shown{.size = sizeof shown,
                                   .name = info.name.c_str(),
                                   .path = info.path.c_str(),
                                   .uuid = info.uuid.c_str(),
                                   .taken_at_us = info.taken_at_us,
                                   .bytes = info.bytes,
                                   .linked_bytes = info.linked_bytes};
      if (visit(arg, &shown) == 0) {
        break;
      }
    }
    return {};
  });
}

wq_code wq_snapshot_restore(const char* snapshot, const char* into,
                            const wq_restore_options* options, wq_bytes* from, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (snapshot == nullptr || into == nullptr) {
      return NullArgument("snapshot or into");
    }
    wq_restore_options own;
    if (Status s = wq::c::ReadSized("options", options, &own); !s.ok()) {
      return s;
    }
    const wq::RestoreOptions restore_options{.cancelled = CancelledBy(own.cancelled, own.arg)};
    return MakeAndReturnPath("from", from, [&](wq::SnapshotInfo* info) {
      return wq::RestoreSnapshot(snapshot, into, restore_options, info);
    });
  });
}

}  // extern "C"

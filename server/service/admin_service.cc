#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/convert.h"
#include "server/service/services.h"
#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/snapshot.h"
#include "wq/store.h"
#include "wq/v1/admin.pb.h"

namespace wq {
namespace {

constexpr std::string_view kAdminService = "wq.v1.Admin";

Status ReadStore(const StoreAccess& access, v1::GetStoreResponse* response) {
  const Store& store = access.store();
  response->set_pid(getpid());
  response->set_uuid(store.uuid());
  ToError(store.Health(), response->mutable_health());
  for (const std::string& name : store.QueueNames()) {
    v1::StoreQueue* const queue = response->add_queues();
    queue->set_name(name);
    if (const Queue* const open = store.FindQueue(name); open != nullptr) {
      queue->set_open(true);
      ToCounts(open->Counts(), open->IsShuttingDown(), queue->mutable_counts());
    }
  }
  return {};
}

Status ChangeKeys(StoreAccess* access, const v1::ChangeRequest& request,
                  v1::ChangeResponse* response) {
  KeyChange change = KeyChange::kRemove;
  if (Status s = FromKind(request.kind(), &change); !s.ok()) {
    return s;
  }
  std::optional<Durability> durability;
  if (Status s = FromDurability(request.durability(), &durability); !s.ok()) {
    return s;
  }
  Queue* queue = nullptr;
  if (Status s = access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  const ChangeOptions options{.durability = durability.value_or(queue->durability()),
                              .delay = std::chrono::microseconds(request.delay_us()),
                              .per_second = request.per_second()};
  const std::vector<std::string_view> keys(request.keys().begin(), request.keys().end());
  ChangeResult result;
  Status s = AccessTo(queue)->Change(change, keys, options, &result);
  response->set_done(result.done);
  response->mutable_absent()->Add(result.absent.begin(), result.absent.end());
  return s;
}

Status PauseQueue(StoreAccess* access, const v1::PauseRequest& request) {
  Queue* queue = nullptr;
  if (Status s = access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  return queue->Pause(request.has_for_us()
                          ? std::optional(std::chrono::microseconds(request.for_us()))
                          : std::nullopt);
}

Status ResumeQueue(StoreAccess* access, const v1::ResumeRequest& request,
                   v1::ResumeResponse* response) {
  Queue* queue = nullptr;
  if (Status s = access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  bool was_paused = false;
  Status s = AccessTo(queue)->Resume(&was_paused);
  response->set_was_paused(was_paused);
  return s;
}

Status FlushStore(const StoreAccess& access, const v1::FlushRequest& request) {
  std::optional<Durability> durability;
  if (Status s = FromDurability(request.durability(), &durability); !s.ok()) {
    return s;
  }
  return access.store().Flush(durability.value_or(Durability::kPower));
}

Status Delete(StoreAccess* access, WorkHub* hub, const std::string& name) {
  const Status why = Status::NotFound("queue '" + EscapeKey(name) + "' is deleted");
  const Queue* closed = nullptr;
  Status s = access->Delete(name, [&](const Queue* queue) {
    hub->EndQueue(queue, why);
    closed = queue;
  });
  if (closed != nullptr) {
    hub->EndQueue(closed, why);  // Workers that have connected before it was closed.
  }
  return s;
}

Status Snapshot(const StoreAccess& access, const Caller& caller,
                const v1::CreateSnapshotRequest& request, v1::CreateSnapshotResponse* response) {
  // A client on the control socket is this process's user or root, and could copy the store itself.
  if (!caller.peer.starts_with("unix")) {
    return Status::NotSupported("snapshots are made on the server's machine, by wqctl snapshot");
  }
  if (access.store().dir().empty()) {
    return Status::NotSupported("a store in memory has no files to copy");
  }
  if (!request.directory().starts_with('/') ||
      request.directory().find('\0') != std::string::npos) {
    return Status::InvalidArgument("the directory \"" + EscapeKey(request.directory()) +
                                   "\" is not an absolute path");
  }
  SnapshotInfo info;
  Status s =
      CreateSnapshot(access.store().dir(), request.directory(), {.name = request.name()}, &info);
  if (s.ok()) {
    response->set_path(info.path);
    response->set_taken_at_us(info.taken_at_us);
    response->set_bytes(info.bytes);
  }
  return s;
}

}  // namespace

void AddAdminService(StoreAccess* access, WorkHub* hub, MethodTable* table) {
  table->Add(Unary<v1::GetStoreRequest, v1::GetStoreResponse>(
      kAdminService, "GetStore",
      [access](const auto&, auto* response) { return ReadStore(*access, response); }, Waits));
  table->Add(Unary<v1::ListWorkersRequest, v1::ListWorkersResponse>(
      kAdminService, "ListWorkers",
      [hub](const auto& request, auto* response) {
        hub->List(request.queue(), response);
        return Status::Ok();
      },
      Waits));
  table->Add(Unary<v1::ChangeRequest, v1::ChangeResponse>(
      kAdminService, "Change",
      [access](const auto& request, auto* response) {
        return ChangeKeys(access, request, response);
      },
      Waits));
  table->Add(Unary<v1::PauseRequest, v1::PauseResponse>(
      kAdminService, "Pause",
      [access](const auto& request, auto*) { return PauseQueue(access, request); }, Waits));
  table->Add(Unary<v1::ResumeRequest, v1::ResumeResponse>(
      kAdminService, "Resume",
      [access](const auto& request, auto* response) {
        return ResumeQueue(access, request, response);
      },
      Waits));
  table->Add(Unary<v1::FlushRequest, v1::FlushResponse>(
      kAdminService, "Flush",
      [access](const auto& request, auto*) { return FlushStore(*access, request); }, Waits));
  table->Add(Unary<v1::DeleteQueueRequest, v1::DeleteQueueResponse>(
      kAdminService, "DeleteQueue",
      [access, hub](const auto& request, auto*) { return Delete(access, hub, request.queue()); },
      Waits));
  table->Add(Unary<v1::CreateSnapshotRequest, v1::CreateSnapshotResponse>(
      kAdminService, "CreateSnapshot",
      [access](const Caller& caller, const auto& request, auto* response) {
        return Snapshot(*access, caller, request, response);
      },
      Waits));
}

}  // namespace wq

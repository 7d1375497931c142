#include "server/control.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "server/wire.h"
#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/store.h"

namespace wq {
namespace {

constexpr const char* kJson = "application/json";

int HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kAlreadyExists:
    case StatusCode::kLocked:
    case StatusCode::kNotProcessing:
      return 409;
    case StatusCode::kShuttingDown:
      return 503;
    default:
      return 500;
  }
}

HttpReply ErrorReply(const Status& status) {
  return {.status = HttpStatusOf(status.code()),
          .type = kJson,
          .body = wire::EncodeError(status) + "\n"};
}

HttpReply Reply(const Status& status, const std::string& json) {
  return status.ok() ? HttpReply{.type = kJson, .body = json + "\n"} : ErrorReply(status);
}

LiveInfo InfoOf(const Store& store) {
  LiveInfo info{.pid = getpid(), .uuid = store.uuid(), .health = store.Health(), .queues = {}};
  for (std::string& name : store.QueueNames()) {
    LiveQueue& item = info.queues.emplace_back();
    if (const Queue* const queue = store.FindQueue(name); queue != nullptr) {
      item.open = true;
      item.shutting_down = queue->IsShuttingDown();
      item.counts = queue->Counts();
    }
    item.name = std::move(name);
  }
  return info;
}

Status FindQueue(Store* store, const QueueOpener& open_queue, const wire::Call& call,
                 Queue** queue) {
  *queue = store->FindQueue(call.queue);
  if (*queue != nullptr) {
    return {};
  }
  const std::string name = "queue '" + EscapeKey(call.queue) + "'";
  if (open_queue != nullptr) {
    Status s = open_queue(call.queue, call.create, queue);
    if (s.code() == StatusCode::kAlreadyExists) {  // Another request has opened it.
      *queue = store->FindQueue(call.queue);
    }
    return *queue != nullptr ? Status::Ok() : s.ok() ? Status::NotFound("there is no " + name) : s;
  }
  const std::vector<std::string> names = store->QueueNames();
  if (std::binary_search(names.begin(), names.end(), call.queue)) {
    return Status::Locked(name + " is not open in process " + std::to_string(getpid()) +
                          ", which owns the store");
  }
  return Status::NotFound("there is no " + name);
}

// Performs a call. *answer is its JSON.
Status Perform(std::string_view path, const wire::Call& call, QueueAccess* queue,
               std::string* answer) {
  *answer = "{}";
  const std::vector<std::string_view> keys(call.keys.begin(), call.keys.end());
  if (path == wire::kAddPath) {
    BatchResult result;
    Status s = queue->Add(keys, call.add, &result);
    *answer = wire::EncodeBatch(result);
    return s;
  }
  if (path == wire::kChangePath) {
    ChangeResult result;
    Status s = queue->Change(call.change, keys, call.durability, &result);
    *answer = wire::EncodeChanged(result);
    return s;
  }
  if (path == wire::kPausePath) {
    return queue->Pause(call.pause_for);
  }
  bool was_paused = false;
  Status s = queue->Resume(&was_paused);
  *answer = wire::EncodeResumed(was_paused);
  return s;
}

}  // namespace

HttpReply NoSuchCall(const std::string& request) {
  return ErrorReply(Status::NotFound("this server has no call " + EscapeKey(request, 256)));
}

void AddControl(Store* store, const QueueOpener& open_queue, Http* http) {
  http->Get(wire::kStorePath,
            [store](const std::string&) { return Reply({}, wire::EncodeInfo(InfoOf(*store))); });
  for (const char* const path :
       {wire::kAddPath, wire::kChangePath, wire::kPausePath, wire::kResumePath}) {
    http->Post(path, [store, open_queue, path](const std::string& body) {
      wire::Call call;
      Queue* queue = nullptr;
      if (Status s = wire::DecodeCall(path, body, &call); !s.ok()) {
        return ErrorReply(s);
      }
      if (Status s = FindQueue(store, open_queue, call, &queue); !s.ok()) {
        return ErrorReply(s);
      }
      std::string answer;
      const Status s = Perform(path, call, AccessTo(queue).get(), &answer);
      return Reply(s, answer);
    });
  }
  http->Post(wire::kFlushPath, [store](const std::string& body) {
    wire::Call call;
    Status s = wire::DecodeCall(wire::kFlushPath, body, &call);
    if (s.ok()) {
      s = store->Flush(call.durability);
    }
    return Reply(s, "{}");
  });
}

}  // namespace wq

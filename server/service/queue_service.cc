#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/api/convert.h"
#include "server/service/services.h"
#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/v1/queue.pb.h"

namespace wq {
namespace {

constexpr std::string_view kQueueService = "wq.v1.Queue";
constexpr uint64_t kMaxListed = 1000;
constexpr uint64_t kMaxOffset = 9000;
// A request of more keys does not run on a thread that other calls need.
constexpr int kManyKeys = 4096;
constexpr int kMaxKeys = 100'000;

std::vector<std::string_view> Views(const google::protobuf::RepeatedPtrField<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

// Whether a change of so many keys takes long, or waits for the disk, or for opening the queue.
bool MayWait(const StoreAccess& access, std::string_view name, int keys, v1::Durability wanted) {
  const Queue* const open = access.FindOpen(name);
  std::optional<Durability> durability;
  return open == nullptr || keys > kManyKeys || !FromDurability(wanted, &durability).ok() ||
         access.MayWait(durability.value_or(open->durability()));
}

Status AddKeys(StoreAccess* access, const v1::AddRequest& request, v1::AddResponse* response) {
  Queue* queue = nullptr;
  AddRequest add{.lane = {}, .group = {}, .delay = {}, .durability = Durability::kProcess};
  std::optional<Durability> durability;
  if (Status s = FromDurability(request.durability(), &durability); !s.ok()) {
    return s;
  }
  if (request.delay_us() < 0) {
    return Status::InvalidArgument("delay_us is negative");
  }
  if (request.keys_size() > kMaxKeys) {
    return Status::InvalidArgument("a request has more than " + std::to_string(kMaxKeys) + " keys");
  }
  if (Status s = access->Find(request.queue(), request.create(), &queue); !s.ok()) {
    return s;
  }
  if (request.has_lane()) {
    add.lane = request.lane();
  }
  if (request.has_group()) {
    add.group = request.group();
  }
  add.reason = request.cause().reason();
  add.trace_parent = request.cause().trace_parent();
  if (!v1::DelayMode_IsValid(request.delay_mode())) {
    return Status::InvalidArgument("there is no delay mode " +
                                   std::to_string(static_cast<int>(request.delay_mode())));
  }
  add.delay_mode = static_cast<DelayMode>(request.delay_mode());  // Of the same numbers.
  if (request.has_debounce()) {
    add.debounce = Debounce{std::chrono::microseconds(request.debounce().quiet_us()),
                            std::chrono::microseconds(request.debounce().max_wait_us())};
  }
  add.wait_for_room = std::chrono::microseconds(0);  // This thread has other calls to answer.
  add.delay = std::min(std::chrono::microseconds(request.delay_us()), kMaxDelay);
  add.durability = durability.value_or(queue->durability());
  BatchResult result;
  Status s = AccessTo(queue)->Add(Views(request.keys()), add, &result);
  ToBatch(result, response);
  return s;
}

Status RemoveKeys(StoreAccess* access, const v1::RemoveRequest& request,
                  v1::ChangeResponse* response) {
  v1::ChangeRequest change;
  change.set_queue(request.queue());
  change.set_kind(v1::ChangeRequest::REMOVE);
  *change.mutable_keys() = request.keys();
  change.set_durability(request.durability());
  return ChangeKeys(access, change, response);
}

Status ReadCounts(StoreAccess* access, const v1::CountsRequest& request,
                  v1::QueueCounts* response) {
  Queue* queue = nullptr;
  if (Status s = access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  ToCounts(queue->Counts(), queue->IsShuttingDown(), response);
  return {};
}

Status ListQueued(const Queue& queue, const v1::ListRequest& request, size_t limit,
                  v1::ListResponse* response) {
  std::vector<QueuedKey> keys;
  std::string page = request.page();
  const size_t offset = page.empty() ? request.offset() : 0;
  if (Status s = queue.ListPage(offset, limit, &page, &keys); !s.ok()) {
    return s;
  }
  for (QueuedKey& key : keys) {
    v1::ListResponse::Key* const listed = response->add_keys();
    listed->set_key(std::move(key.key));
    listed->set_lane(key.lane);
    listed->set_group(std::move(key.group));
  }
  response->set_next(std::move(page));
  return {};
}

void ListQuarantined(const Queue& queue, const v1::ListRequest& request, size_t limit,
                     v1::ListResponse* response) {
  const size_t offset = request.page().empty() ? request.offset() : 0;
  const std::vector<QuarantinedKey> keys = queue.Quarantined(request.page(), offset, limit);
  for (const QuarantinedKey& key : keys) {
    v1::ListResponse::Key* const listed = response->add_keys();
    listed->set_key(key.key);
    listed->set_failures(key.failures);
    listed->set_last_error(ToUtf8(key.last_error));
    listed->set_quarantined_at_us(key.quarantined_at_us);
  }
  if (keys.size() == limit) {
    response->set_next(keys.back().key);
  }
}

Status ListKeys(StoreAccess* access, const v1::ListRequest& request, v1::ListResponse* response) {
  Queue* queue = nullptr;
  if (request.offset() > kMaxOffset) {
    return Status::InvalidArgument(
        "offset is more than " + std::to_string(kMaxOffset) +
        ": go through the pages by page and next, or search with Browse.Search");
  }
  if (Status s = access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  const uint64_t limit = request.limit() == 0 ? kMaxListed : std::min(request.limit(), kMaxListed);
  switch (request.state()) {
    case v1::ListRequest::QUEUED:
      return ListQueued(*queue, request, limit, response);
    case v1::ListRequest::QUARANTINED:
      ListQuarantined(*queue, request, limit, response);
      return {};
    default:
      return Status::InvalidArgument("there is no state " + std::to_string(request.state()));
  }
}

}  // namespace

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
  ChangeResult result;
  Status s = AccessTo(queue)->Change(change, Views(request.keys()), options, &result);
  response->set_done(result.done);
  response->mutable_absent()->Add(result.absent.begin(), result.absent.end());
  return s;
}

void AddQueueService(StoreAccess* access, MethodTable* table) {
  Method add = Unary<v1::AddRequest, v1::AddResponse>(
      kQueueService, "Add",
      [access](const auto& request, auto* response) { return AddKeys(access, request, response); },
      [access](const v1::AddRequest& request) {
        return MayWait(*access, request.queue(), request.keys_size(), request.durability());
      });
  add.audited = Method::Audited::kBefore;
  table->Add(std::move(add));
  Method remove = Unary<v1::RemoveRequest, v1::ChangeResponse>(
      kQueueService, "Remove",
      [access](const auto& request, auto* response) {
        return RemoveKeys(access, request, response);
      },
      [access](const v1::RemoveRequest& request) {
        return MayWait(*access, request.queue(), request.keys_size(), request.durability());
      });
  remove.audited = Method::Audited::kBeforeAndAfter;
  table->Add(std::move(remove));
  table->Add(Unary<v1::CountsRequest, v1::QueueCounts>(
      kQueueService, "Counts",
      [access](const auto& request, auto* response) {
        return ReadCounts(access, request, response);
      },
      [access](const v1::CountsRequest& request) {
        return access->FindOpen(request.queue()) == nullptr;
      }));
  table->Add(Unary<v1::ListRequest, v1::ListResponse>(
      kQueueService, "List",
      [access](const auto& request, auto* response) { return ListKeys(access, request, response); },
      [](const v1::ListRequest&) { return true; }));
}

}  // namespace wq

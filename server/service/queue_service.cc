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
// A request of more keys does not run on a thread that other calls need.
constexpr int kManyKeys = 4096;
constexpr int kMaxKeys = 100'000;

// Whether a change of so many keys takes long, or waits for the disk, or for opening the queue.
bool MayWait(const StoreAccess& access, std::string_view name, int keys, v1::Durability wanted) {
  const Queue* const open = access.FindOpen(name);
  std::optional<Durability> durability;
  return open == nullptr || keys > kManyKeys || !FromDurability(wanted, &durability).ok() ||
         access.MayWait(durability.value_or(open->durability()));
}

Status AddKeys(StoreAccess* access, const v1::AddRequest& request, v1::AddResponse* response) {
  Queue* queue = nullptr;
  AddOptions add;
  if (Status s = FromDurability(request.durability(), &add.durability); !s.ok()) {
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
  const auto delay = std::min(std::chrono::microseconds(request.delay_us()), kMaxDelay);
  BatchResult result;
  const std::vector<std::string_view> keys(request.keys().begin(), request.keys().end());
  Status s = AccessTo(queue)->Add(keys, add, delay, &result);
  ToBatch(result, response);
  return s;
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

}  // namespace

void AddQueueService(StoreAccess* access, MethodTable* table) {
  table->Add(Unary<v1::AddRequest, v1::AddResponse>(
      kQueueService, "Add",
      [access](const auto& request, auto* response) { return AddKeys(access, request, response); },
      [access](const Message& message) {
        const auto& request = static_cast<const v1::AddRequest&>(message);
        return MayWait(*access, request.queue(), request.keys_size(), request.durability());
      }));
  table->Add(Unary<v1::CountsRequest, v1::QueueCounts>(
      kQueueService, "Counts",
      [access](const auto& request, auto* response) {
        return ReadCounts(access, request, response);
      },
      [access](const Message& request) {
        return access->FindOpen(static_cast<const v1::CountsRequest&>(request).queue()) == nullptr;
      }));
}

}  // namespace wq

#include "wq/live_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/names.h"
#include "server/api/convert.h"
#include "server/client/connection.h"
#include "server/client/live_worker_impl.h"
#include "wq/v1/admin.grpc.pb.h"
#include "wq/v1/browse.grpc.pb.h"
#include "wq/v1/queue.grpc.pb.h"

namespace wq {
namespace {

// The limits of one request: far below what a server accepts.
constexpr size_t kMaxKeysPerRequest = 4096;
constexpr size_t kMaxKeyBytesPerRequest = size_t{1} << 20;

// The number of keys that fit into one request, from the first one on: at least one, unless there
// is none.
size_t TakeKeys(std::span<const std::string_view> keys) {
  size_t bytes = 0;
  size_t n = 0;
  while (n < keys.size() && n < kMaxKeysPerRequest &&
         (n == 0 || bytes + keys[n].size() <= kMaxKeyBytesPerRequest)) {
    bytes += keys[n++].size();
  }
  return n;
}

void SetKeys(std::span<const std::string_view> keys,
             google::protobuf::RepeatedPtrField<std::string>* field) {
  field->Clear();
  for (const std::string_view key : keys) {
    field->Add()->assign(key);
  }
}

// Sends the keys in as many requests as they need, at least one. `field`: of the request. `send` is
// called with the index of the request's first key and the number of its keys. NotDurable, as a
// request returned it, when all are sent: a failed store applies each.
template <typename Send>
Status SendInParts(std::span<const std::string_view> keys,
                   google::protobuf::RepeatedPtrField<std::string>* field, const Send& send) {
  Status not_durable;
  for (size_t begin = 0; begin == 0 || begin < keys.size();) {
    const size_t n = TakeKeys(keys.subspan(begin));
    SetKeys(keys.subspan(begin, n), field);
    Status s = send(begin, n);
    if (s.code() == StatusCode::kNotDurable) {
      not_durable = std::move(s);
    } else if (!s.ok()) {
      return s;
    }
    begin += std::max<size_t>(n, 1);
  }
  return not_durable;
}

Status BadAnswer() { return Status::IOError("an invalid answer from the owner of the store"); }

}  // namespace

class LiveStore::RemoteAccess final : public QueueAccess {
 public:
  RemoteAccess(std::shared_ptr<const Connection> connection, std::string_view queue, bool create)
      : connection_(std::move(connection)), queue_(queue), create_(create) {}

  Status Add(std::span<const std::string_view> keys, const AddOptions& options,
             std::chrono::microseconds delay, BatchResult* result) override {
    *result = {};
    if (options.if_absent) {
      return Status::NotSupported("if_absent is for the process that owns the store");
    }
    v1::AddRequest message;
    message.set_queue(queue_);
    message.set_create(create_);
    if (options.lane.has_value()) {
      message.set_lane(*options.lane);
    }
    if (options.group.has_value()) {
      message.set_group(std::string(*options.group));
    }
    if (!options.reason.empty() || !options.trace_parent.empty()) {
      message.mutable_cause()->set_reason(std::string(options.reason));
      message.mutable_cause()->set_trace_parent(std::string(options.trace_parent));
    }
    message.set_delay_us(delay.count());
    message.set_delay_mode(static_cast<v1::DelayMode>(options.delay_mode));
    if (options.debounce.has_value()) {
      message.mutable_debounce()->set_quiet_us(options.debounce->quiet.count());
      message.mutable_debounce()->set_max_wait_us(options.debounce->max_wait.count());
    }
    message.set_durability(ToDurability(options.durability));
    return SendInParts(keys, message.mutable_keys(), [&](size_t begin, size_t n) {
      v1::AddResponse answer;
      Status s = connection_->Call<v1::Queue>(&v1::Queue::Stub::Add, message, &answer);
      BatchResult part;
      FromBatch(answer, &part);
      result->added += part.added;
      result->deduplicated += part.deduplicated;
      result->held += part.held;
      for (auto& [index, why] : part.refused) {
        if (index >= n) {
          return BadAnswer();
        }
        result->refused.emplace_back(begin + index, std::move(why));
      }
      return s;
    });
  }

  Status Change(KeyChange change, std::span<const std::string_view> keys,
                const ChangeOptions& options, ChangeResult* result) override {
    *result = {};
    v1::ChangeRequest message;
    message.set_queue(queue_);
    message.set_kind(ToKind(change));
    message.set_durability(ToDurability(options.durability));
    message.set_per_second(options.per_second);
    return SendInParts(keys, message.mutable_keys(), [&](size_t begin, size_t n) {
      message.set_delay_us(ReleaseDelay(options, result->done).count());
      v1::ChangeResponse answer;
      Status s = connection_->Call<v1::Admin>(&v1::Admin::Stub::Change, message, &answer);
      result->done += answer.done();
      for (const uint64_t index : answer.absent()) {
        if (index >= n) {
          return BadAnswer();
        }
        result->absent.push_back(begin + index);
      }
      return s;
    });
  }

  Status Pause(std::optional<std::chrono::microseconds> duration) override {
    v1::PauseRequest message;
    message.set_queue(queue_);
    if (duration.has_value()) {
      message.set_for_us(duration->count());
    }
    v1::PauseResponse answer;
    return connection_->Call<v1::Admin>(&v1::Admin::Stub::Pause, message, &answer);
  }

  Status Resume(bool* was_paused) override {
    v1::ResumeRequest message;
    message.set_queue(queue_);
    v1::ResumeResponse answer;
    Status s = connection_->Call<v1::Admin>(&v1::Admin::Stub::Resume, message, &answer);
    *was_paused = answer.was_paused();
    return s;
  }

  Status Flush(Durability durability) override {
    v1::FlushRequest message;
    message.set_durability(ToDurability(durability));
    v1::FlushResponse answer;
    return connection_->Call<v1::Admin>(&v1::Admin::Stub::Flush, message, &answer);
  }

 private:
  const std::shared_ptr<const Connection> connection_;
  const std::string queue_;
  const bool create_;
};

LiveStore::LiveStore(std::shared_ptr<const Connection> connection)
    : connection_(std::move(connection)) {}
LiveStore::~LiveStore() = default;

Status LiveStore::Connect(const std::string& dir, const Options& options,
                          std::unique_ptr<LiveStore>* store) {
  store->reset();
  SocketFile file;
  if (Status s = OpenSocketFile(dir, kControlSocketFile, &file); !s.ok()) {
    return s;
  }
  auto connection = std::make_shared<const Connection>(std::move(file), options.timeout);
  std::shared_ptr<grpc::Channel> channel;  // Fails if the file was left by a dead owner.
  if (Status s = connection->Channel(&channel); !s.ok()) {
    return s;
  }
  store->reset(new LiveStore(std::move(connection)));
  return {};
}

Status LiveStore::Read(LiveInfo* info) const {
  v1::GetStoreResponse answer;
  Status s =
      connection_->Call<v1::Admin>(&v1::Admin::Stub::GetStore, v1::GetStoreRequest(), &answer);
  *info = {.pid = answer.pid(),
           .uuid = answer.uuid(),
           .health = FromError(answer.health()),
           .queues = {}};
  for (const v1::StoreQueue& queue : answer.queues()) {
    LiveQueue& read = info->queues.emplace_back();
    read.name = queue.name();
    read.open = queue.open();
    FromCounts(queue.counts(), &read.counts, &read.shutting_down);
  }
  return s;
}

std::unique_ptr<QueueAccess> LiveStore::Access(std::string_view queue, bool create) const {
  return std::make_unique<RemoteAccess>(connection_, queue, create);
}

Status LiveStore::Workers(std::string_view queue, std::vector<LiveWorkerInfo>* workers) const {
  v1::ListWorkersRequest message;
  message.set_queue(std::string(queue));
  v1::ListWorkersResponse answer;
  Status s = connection_->Call<v1::Admin>(&v1::Admin::Stub::ListWorkers, message, &answer);
  workers->clear();
  for (const v1::Worker& worker : answer.workers()) {
    LiveWorkerInfo& read = workers->emplace_back(
        LiveWorkerInfo{.queue = worker.queue(),
                       .name = worker.name(),
                       .peer = worker.peer(),
                       .capacity = worker.capacity(),
                       .connected_at_us = worker.connected_at_us(),
                       .last_heard_at_us = worker.last_heard_at_us(),
                       .shards = {worker.shards().begin(), worker.shards().end()},
                       .held_count = worker.held_count(),
                       .held = {},
                       .done = worker.done(),
                       .failed = worker.failed()});
    for (const v1::Worker::Held& held : worker.held()) {
      read.held.push_back({.key = held.key(),
                           .token = held.token(),
                           .attempt = held.attempt(),
                           .since_us = held.since_us()});
    }
  }
  return s;
}

Status LiveStore::History(std::string_view queue, std::string_view key, uint32_t limit,
                          KeyHistory* history) const {
  v1::GetHistoryRequest message;
  message.set_queue(std::string(queue));
  message.set_key(std::string(key));
  message.set_limit(limit);
  v1::GetHistoryResponse answer;
  Status s = connection_->Call<v1::Browse>(&v1::Browse::Stub::GetHistory, message, &answer);
  FromHistory(answer, history);
  return s;
}

Status LiveStore::DeleteQueue(std::string_view queue) const {
  v1::DeleteQueueRequest message;
  message.set_queue(std::string(queue));
  v1::DeleteQueueResponse answer;
  return connection_->Call<v1::Admin>(&v1::Admin::Stub::DeleteQueue, message, &answer);
}

Status LiveStore::Work(std::string_view queue, const LiveWorkerOptions& options,
                       std::unique_ptr<LiveWorker>* worker) const {
  return LiveWorker::Impl::Open(connection_, queue, options, worker);
}

}  // namespace wq

// Admin.ChangeMatching: a change to all keys that match a filter.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/convert.h"
#include "server/browse/key_filter.h"
#include "server/service/services.h"
#include "wq/queue.h"
#include "wq/queue_access.h"
#include "wq/v1/admin.pb.h"

namespace wq {
namespace {

using Request = v1::ChangeMatchingRequest;

// Collected, then changed.
constexpr size_t kBatchKeys = 4096;
constexpr size_t kBatchBytes = size_t{1} << 20;

// Whether the change would have an effect now.
bool Applies(Request::Kind kind, const KeyInfo& key) {
  switch (kind) {
    case Request::REMOVE:
      return key.queued || key.added_again;
    case Request::CANCEL_DELAY:
    case Request::REQUEUE:
      return key.delayed;
    case Request::FORGET:
      return key.failing;
    case Request::RELEASE:
    case Request::DROP:
      return key.quarantined;
    case Request::ADD:
      return !key.quarantined;
    default:
      return true;  // DELETE.
  }
}

Status Check(const Request& request) {
  if (request.kind() == Request::KIND_UNSPECIFIED || !Request::Kind_IsValid(request.kind())) {
    return Status::InvalidArgument("kind: there is no change " + std::to_string(request.kind()));
  }
  if (request.has_lane() && request.kind() != Request::ADD) {
    return Status::InvalidArgument("lane: it is for ADD only");
  }
  if (request.per_second() != 0 && request.kind() != Request::RELEASE) {
    return Status::InvalidArgument("per_second: it is for RELEASE only");
  }
  return {};
}

class MatchingChange {
 public:
  MatchingChange(const Caller& caller, const Request& request, Queue* queue)
      : caller_(caller), request_(request), queue_(queue), access_(AccessTo(queue)) {}

  // The changed keys are behind the scan, so it does not visit them again. Of a caller that is gone
  // the keys that were changed until then stay changed.
  Status Run(Durability durability, v1::ChangeMatchingResponse* response) {
    KeyFilter filter;
    if (Status s = filter.Compile(request_.filter()); !s.ok()) {
      return s;
    }
    Status changed;
    const auto scan = [this](const KeyVisitor& visit) { return queue_->Scan(visit); };
    Status s = ScanFor(caller_, scan, [&](const KeyInfo& key) {
      if (filter.Matches(key)) {
        changed = Collect(key);
      }
      return changed.ok();
    });
    if (s.ok()) {
      s = std::move(changed);
    }
    if (s.ok()) {
      s = ChangeBatch();
    }
    if (s.ok() && !request_.dry_run()) {
      s = access_->Flush(durability);
    }
    response->set_matched(matched_);
    response->set_done(done_);
    return s;
  }

 private:
  Status Collect(const KeyInfo& key) {
    ++matched_;
    if (request_.dry_run()) {
      done_ += Applies(request_.kind(), key) ? 1 : 0;
      return {};
    }
    bytes_ += key.key.size();
    keys_.emplace_back(key.key);
    return keys_.size() < kBatchKeys && bytes_ < kBatchBytes ? Status::Ok() : ChangeBatch();
  }

  Status ChangeBatch() {
    const std::vector<std::string_view> keys(keys_.begin(), keys_.end());
    Status s = keys.empty()                      ? Status::Ok()
               : request_.kind() == Request::ADD ? Add(keys)
                                                 : Change(keys);
    keys_.clear();
    bytes_ = 0;
    // A failed store has applied it to all keys. The Flush at the end reports it.
    return s.code() == StatusCode::kNotDurable ? Status::Ok() : s;
  }

  Status Add(const std::vector<std::string_view>& keys) {
    BatchResult result;
    const AddOptions add{
        .lane = request_.has_lane() ? std::optional<Lane>(request_.lane()) : std::nullopt,
        .durability = Durability::kAsync,
        .wait_for_room = std::chrono::microseconds(0)};  // Others wait for their turn.
    Status s = access_->Add(keys, add, {}, &result);
    done_ += result.added + result.deduplicated;
    return s.ok() && !result.refused.empty() ? result.refused.front().second : s;
  }

  // The numbers of the kinds are those of ChangeRequest.
  Status Change(const std::vector<std::string_view>& keys) {
    KeyChange change = KeyChange::kRemove;
    if (Status s = FromKind(static_cast<v1::ChangeRequest::Kind>(request_.kind()), &change);
        !s.ok()) {
      return s;
    }
    ChangeOptions options{.durability = Durability::kAsync, .per_second = request_.per_second()};
    options.delay = ReleaseDelay(options, done_);
    ChangeResult result;
    Status s = access_->Change(change, keys, options, &result);
    done_ += result.done;
    return s;
  }

  const Caller& caller_;
  const Request& request_;
  const Queue* const queue_;
  const std::unique_ptr<QueueAccess> access_;
  std::vector<std::string> keys_;
  size_t bytes_ = 0;
  uint64_t matched_ = 0;
  uint64_t done_ = 0;
};

Status ChangeMatching(const BrowseAccess& browse, SearchTurns* turns, const Caller& caller,
                      const Request& request, v1::ChangeMatchingResponse* response) {
  if (Status s = Check(request); !s.ok()) {
    return s;
  }
  std::optional<Durability> durability;
  if (Status s = FromDurability(request.durability(), &durability); !s.ok()) {
    return s;
  }
  if (durability == Durability::kReplicated && !browse.access->replicated().ok()) {
    return browse.access->replicated();  // Before anything is changed.
  }
  const SearchTurn turn(turns, caller);
  if (!turn.status().ok()) {
    return turn.status();
  }
  Queue* queue = nullptr;
  if (Status s = browse.access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  return MatchingChange(caller, request, queue)
      .Run(durability.value_or(queue->durability()), response);
}

}  // namespace

void AddChangeMatching(const BrowseAccess& browse, MethodTable* table) {
  table->Add(Unary<Request, v1::ChangeMatchingResponse>(
      "wq.v1.Admin", "ChangeMatching",
      // Turns of their own: searches of viewers hold up no change.
      [browse, turns = std::make_shared<SearchTurns>()](const Caller& caller, const auto& request,
                                                        auto* response) {
        return ChangeMatching(browse, turns.get(), caller, request, response);
      },
      Waits));
}

}  // namespace wq

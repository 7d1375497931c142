// The calls of Browse.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/api/convert.h"
#include "server/browse/error_cache.h"
#include "server/browse/key_search.h"
#include "server/errors/error_groups.h"
#include "server/service/services.h"
#include "wq/history.h"
#include "wq/queue.h"
#include "wq/v1/browse.pb.h"

namespace wq {
namespace {

constexpr uint32_t kDefaultGroups = 100;
constexpr size_t kMaxExampleBytes = size_t{1} << 20;  // Of all examples of an answer.

Status ScanQueue(const BrowseAccess& browse, const Caller& caller, const std::string& queue,
                 const KeyVisitor& visit) {
  return ScanFor(
      caller, [&](const KeyVisitor& each) { return browse.keys->Scan(queue, each); }, visit);
}

// Scans the queue when it is this search's turn.
Status ScanOnce(const BrowseAccess& browse, const Caller& caller, const v1::SearchRequest& request,
                v1::SearchResponse* response) {
  KeySearch search;
  if (Status s = search.Begin(request); !s.ok()) {
    return s;
  }
  const SearchTurn turn(browse.turns, caller);
  if (!turn.status().ok()) {
    return turn.status();
  }
  Status s = ScanQueue(browse, caller, request.queue(), [&search](const KeyInfo& key) {
    search.Visit(key);
    return true;
  });
  if (s.ok()) {
    search.End(response);
  }
  return s;
}

Status Search(const BrowseAccess& browse, const Caller& caller, const v1::SearchRequest& request,
              v1::SearchResponse* response) {
  const auto begin = std::chrono::steady_clock::now();
  Status s = ScanOnce(browse, caller, request, response);
  const auto took = std::chrono::steady_clock::now() - begin;
  response->set_took_us(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  return s;
}

// What only the process knows that has the queue in memory.
void DescribeLive(Queue* queue, WorkHub* hub, const std::string& key,
                  v1::GetKeyResponse* response) {
  const std::vector<QueuedKey> first = queue->List();
  const auto at = std::find_if(first.begin(), first.end(),
                               [&key](const QueuedKey& queued) { return queued.key == key; });
  if (at != first.end() && queue->shards() == 0) {
    response->set_position(static_cast<uint64_t>(at - first.begin()));
  }
  hub->FindHolder(queue, key, response);
  response->set_queue_paused(queue->Counts().paused);
  Causes causes;
  if (queue->CausesOf(key, &causes).ok()) {
    ToCauses(causes, response);
  }
}

Status GetKey(const BrowseAccess& browse, const Caller& caller, const v1::GetKeyRequest& request,
              v1::GetKeyResponse* response) {
  const SearchTurn turn(browse.access == nullptr ? browse.turns : nullptr, caller);
  if (!turn.status().ok()) {
    return turn.status();
  }
  if (Status s = browse.keys->Inspect(request.queue(), request.key(),
                                      [response](const KeyInfo& key) {
                                        ToKeyRow(key, key.last_error.size(),
                                                 response->mutable_key());
                                      });
      !s.ok()) {
    return s;
  }
  if (browse.access == nullptr) {
    return {};
  }
  Queue* queue = nullptr;
  if (Status s = browse.access->Find(request.queue(), false, &queue); !s.ok()) {
    return s;
  }
  DescribeLive(queue, browse.hub, request.key(), response);
  return {};
}

void ToMessage(const ErrorGroup& group, size_t* room, v1::ErrorGroup* message) {
  message->set_queue(group.queue);
  message->set_form(ToUtf8(group.form));
  message->set_keys(group.keys);
  message->set_quarantined(group.quarantined);
  message->set_failures(group.failures);
  message->set_first_at_us(group.first_at_us);
  message->set_last_at_us(group.last_at_us);
  for (const ErrorGroup::Example& example : group.examples) {
    if (example.key.size() + example.error.size() > *room) {
      break;
    }
    *room -= example.key.size() + example.error.size();
    v1::ErrorGroup::Example* const one = message->add_examples();
    one->set_key(example.key);
    one->set_error(ToUtf8(example.error));
  }
}

Status GroupQueue(const BrowseAccess& browse, const Caller& caller, const std::string& queue,
                  ErrorGroups* groups) {
  return ScanQueue(browse, caller, queue, [&queue, groups](const KeyInfo& key) {
    if (key.failing || key.quarantined) {
      groups->Add({.queue = queue,
                   .key = key.key,
                   .error = key.last_error,
                   .failures = key.failures,
                   .first_at_us = key.first_failed_at_us,
                   .last_at_us = key.last_failed_at_us,
                   .quarantined = key.quarantined});
    }
    return true;
  });
}

// Groups the errors of these queues.
Status GroupQueues(const BrowseAccess& browse, const Caller& caller,
                   const std::vector<std::string>& queues, GroupedErrors* errors) {
  ErrorGroups groups;
  for (const std::string& queue : queues) {
    if (Status s = GroupQueue(browse, caller, queue, &groups); !s.ok()) {
      return s;
    }
  }
  errors->groups = groups.Sorted();
  errors->ungrouped = groups.ungrouped();
  return {};
}

// Calls at the same time take turns, so those that wait find the answer of the first. One that is
// refused a turn gets an old answer, if there is one.
Status FindErrors(const BrowseAccess& browse, const Caller& caller, ErrorCache* cache,
                  const std::string& queue, const std::vector<std::string>& queues,
                  std::shared_ptr<const GroupedErrors>* errors) {
  if (*errors = cache->Find(queue); *errors != nullptr) {
    return {};
  }
  const SearchTurn turn(browse.turns, caller);
  if (turn.status().code() == StatusCode::kTimedOut) {
    *errors = cache->FindOld(queue);
    return *errors != nullptr ? Status::Ok() : turn.status();
  }
  if (!turn.status().ok()) {
    return turn.status();
  }
  if (*errors = cache->Find(queue); *errors != nullptr) {
    return {};
  }
  GroupedErrors found;
  found.begun = cache->Now();
  Status s = GroupQueues(browse, caller, queues, &found);
  if (s.ok()) {
    *errors = cache->Put(queue, std::move(found));
  }
  return s;
}

Status GroupErrors(const BrowseAccess& browse, const Caller& caller, ErrorCache* cache,
                   const v1::GroupErrorsRequest& request, v1::GroupErrorsResponse* response) {
  std::vector<std::string> queues{request.queue()};
  if (request.queue().empty()) {
    queues = browse.keys->Names();
  } else if (Status s = browse.keys->Check(request.queue()); !s.ok()) {
    return s;  // Also if there is an answer of the time before the queue was deleted.
  }
  std::shared_ptr<const GroupedErrors> errors;
  if (Status s = FindErrors(browse, caller, cache, request.queue(), queues, &errors); !s.ok()) {
    return s;
  }
  const size_t limit = request.limit() == 0 ? kDefaultGroups : request.limit();
  uint64_t ungrouped = errors->ungrouped;
  size_t room = kMaxExampleBytes;
  for (const ErrorGroup& group : errors->groups) {
    if (static_cast<size_t>(response->groups_size()) < limit) {
      ToMessage(group, &room, response->add_groups());
    } else {
      ungrouped += group.keys;
    }
  }
  response->set_ungrouped(ungrouped);
  const auto age = std::chrono::steady_clock::now() - errors->begun;
  response->set_age_us(std::chrono::duration_cast<std::chrono::microseconds>(age).count());
  return {};
}

}  // namespace

void AddBrowseKeys(const BrowseAccess& browse, MethodTable* table) {
  table->Add(Unary<v1::SearchRequest, v1::SearchResponse>(
      kBrowseService, "Search",
      [browse](const Caller& caller, const auto& request, auto* response) {
        return Search(browse, caller, request, response);
      },
      Waits));
  table->Add(Unary<v1::GetKeyRequest, v1::GetKeyResponse>(
      kBrowseService, "GetKey",
      [browse](const Caller& caller, const auto& request, auto* response) {
        return GetKey(browse, caller, request, response);
      },
      Waits));
  table->Add(Unary<v1::GroupErrorsRequest, v1::GroupErrorsResponse>(
      kBrowseService, "GroupErrors",
      [browse, cache = std::make_shared<ErrorCache>()](const Caller& caller, const auto& request,
                                                       auto* response) {
        return GroupErrors(browse, caller, cache.get(), request, response);
      },
      Waits));
}

// Reads files, into memory: one call at a time.
void AddHistoryService(HistoryReader read, SearchTurns* turns, MethodTable* table) {
  table->Add(Unary<v1::GetHistoryRequest, v1::GetHistoryResponse>(
      kBrowseService, "GetHistory",
      [read = std::move(read), turns](const Caller& caller, const auto& request, auto* response) {
        const SearchTurn turn(turns, caller);
        if (!turn.status().ok()) {
          return turn.status();
        }
        KeyHistory history;
        Status s = read(request.queue(), request.key(), request.limit(), &history);
        ToHistory(history, response);
        return s;
      },
      Waits));
}

void AddOverviewService(OverviewReader read, SeriesReader read_series, MethodTable* table) {
  table->Add(Unary<v1::GetOverviewRequest, v1::GetOverviewResponse>(
      kBrowseService, "GetOverview",
      [read = std::move(read)](const auto& request, auto* response) {
        read(request.queue(), response);
        return Status::Ok();
      },
      Waits));
  table->Add(Unary<v1::GetSeriesRequest, v1::GetSeriesResponse>(kBrowseService, "GetSeries",
                                                                std::move(read_series), Waits));
}

}  // namespace wq

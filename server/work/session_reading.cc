// What a page shows of a session.
#include <algorithm>
#include <memory>

#include "server/api/convert.h"
#include "server/work/session.h"

namespace wq {
namespace {

constexpr size_t kMaxDescribed = 1000;
constexpr size_t kHeldBytes = 48;  // Of a held key in a message, beside the key.

}  // namespace

void Session::Describe(v1::Worker* worker, size_t* room) const {
  worker->set_queue(terms_.queue);
  worker->set_name(ToUtf8(terms_.name));
  worker->set_peer(terms_.peer);
  worker->set_connected_at_us(connected_at_us_);
  if (const std::shared_ptr<Worker> shards = Shards(); shards != nullptr) {
    for (const uint32_t shard : shards->Shards()) {
      worker->add_shards(shard);
    }
  }
  const MutexLock lock(mu_);
  worker->set_capacity(capacity_);
  worker->set_last_heard_at_us(last_heard_us_);
  worker->set_held_count(held_.size());
  worker->set_done(done_);
  worker->set_failed(failed_);
  for (const auto& [token, held] : held_) {
    const size_t bytes = held.key.size() + kHeldBytes;
    if (worker->held_size() == kMaxDescribed || bytes > *room) {
      break;
    }
    *room -= bytes;
    v1::Worker::Held* const one = worker->add_held();
    one->set_key(held.key);
    one->set_token(token);
    one->set_since_us(held.since_us);
    one->set_attempt(held.attempt);
  }
}

bool Session::DescribeHeld(std::string_view key, v1::GetKeyResponse* response) const {
  const MutexLock lock(mu_);
  const auto held = std::find_if(held_.begin(), held_.end(),
                                 [key](const auto& one) { return one.second.key == key; });
  if (held == held_.end()) {
    return false;
  }
  response->set_worker(ToUtf8(terms_.name));
  response->set_peer(terms_.peer);
  response->set_held_since_us(held->second.since_us);
  response->set_token(held->first);
  response->set_attempt(held->second.attempt);
  return true;
}

}  // namespace wq

// Fuzz target: the C interface, called at random on stores in memory. The input chooses the calls,
// their handles (valid, freed, of another kind, none) and their arguments. Each call returns a
// known code and writes an error only if it fails; a freed handle stays WQ_BAD_HANDLE; a key that
// was handed out can be Done.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "call_input.h"
#include "wq/wq.h"

namespace wq::fuzz {
namespace {

constexpr uint8_t kUntouched = 0x5A;

class Caller {
 public:
  Caller(const uint8_t* data, size_t size) : in_(data, size) {}
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() {
    for (const wq_store store : stores_) {
      const bool freed = Check(wq_store_free(store, &error_)) == WQ_OK;
      WQ_CHECK(!freed || wq_store_free(store, nullptr) == WQ_BAD_HANDLE, "freed twice");
    }
    wq_bytes_free(&bytes_);
    wq_bytes_free(&list_);
  }

  void Run() {
    OpenStore();
    OpenQueue();
    while (in_.more()) {
      std::memset(&error_, kUntouched, sizeof error_);
      Step();
    }
  }

 private:
  // Checks the code that a call returned, and its error.
  wq_code Check(wq_code code) {
    WQ_CHECK(
        std::string_view(wq_code_name(code)) != "?" && code != WQ_INTERNAL && code != WQ_FORKED,
        "an unknown code");
    if (code == WQ_OK) return code;
    WQ_CHECK(error_.code == code, "another code in the error");
    WQ_CHECK(std::memchr(error_.message, 0, sizeof error_.message) != nullptr,
             "a text without end");
    return code;
  }

  // One of `handles`, valid or freed; sometimes a handle of another kind, or none.
  uint64_t Handle(const std::vector<uint64_t>& handles) {
    const uint8_t byte = in_.Byte();
    if (byte >= 0xF0 || handles.empty()) return byte < 0xF8 ? byte : Any(byte);
    return handles[byte % handles.size()];
  }
  uint64_t Any(uint8_t byte) const {
    std::vector<uint64_t> all = queues_;
    all.insert(all.end(), workers_.begin(), workers_.end());
    for (const wq_store store : stores_) all.push_back(store.handle);
    return all[byte % all.size()];
  }
  wq_queue AQueue() { return {Handle(queues_)}; }
  wq_worker AWorker() { return {Handle(workers_)}; }
  wq_store AStore() { return stores_[in_.Byte() % stores_.size()]; }
  int64_t Timeout() {
    return in_.Byte() % 4;
  }  // Never infinite: no other thread would end the wait.

  void OpenStore() {
    wq_store_options options = {};
    options.size = sizeof options;
    options.flush_interval_ms = in_.Byte();
    options.max_batch_bytes = in_.Number();
    options.recovery_backoff_min_ms = in_.Byte();
    wq_store store = WQ_NO_STORE;
    wq_code code = Check(wq_store_open_in_memory(&options, &store, &error_));
    if (code != WQ_OK) code = Check(wq_store_open_in_memory(nullptr, &store, &error_));
    WQ_CHECK(code == WQ_OK, "no store in memory");
    stores_.push_back(store);
  }

  void OpenQueue() {
    static constexpr std::array<int32_t, 3> kLanes = {3, 1, -7};
    wq_limiter inner = {};
    inner.size = sizeof inner;
    inner.kind = in_.Byte() % 5;
    inner.base_us = static_cast<int64_t>(in_.Number());
    inner.max_us = static_cast<int64_t>(in_.Number());
    inner.rate = static_cast<double>(in_.Byte()) / 4;
    inner.burst = in_.Byte();
    const wq_limiter* const inners[] = {&inner, nullptr};
    wq_limiter limiter = {};
    limiter.size = sizeof limiter;
    limiter.kind = in_.Byte() % 9;
    limiter.max_us = static_cast<int64_t>(in_.Number());
    limiter.limiters = inners;
    limiter.limiter_count = in_.Byte() % 3;
    wq_queue_options options = {};
    options.size = in_.Byte() % 16 == 15 ? 8 : sizeof options;
    options.order = in_.Byte() % 6;
    options.lanes = kLanes.data();
    options.lane_count = in_.Byte() % 4;
    options.re_add = in_.Byte() % 3;
    options.starvation_bound = in_.Byte() % 8;
    options.shards = in_.Byte() % 8;
    options.quarantined_add = in_.Byte() % 3;
    options.max_requeues = in_.Byte() % 4;
    options.durability = in_.Byte() % 5;
    options.max_key_bytes = in_.Number();
    options.limiter = in_.Byte() % 2 == 0 ? nullptr : &limiter;
    options.merge_delays = in_.Byte() % 2;
    const std::string name(1, static_cast<char>('a' + in_.Byte() % 4));
    wq_queue queue = WQ_NO_QUEUE;
    if (Check(wq_store_open_queue(AStore(), name.c_str(), &options, &queue, &error_)) == WQ_OK) {
      queues_.push_back(queue.handle);
    }
  }

  void FreeStore() {
    const wq_store store = AStore();
    if (Check(wq_store_free(store, &error_)) != WQ_OK) return;
    WQ_CHECK(wq_store_health(store, nullptr) == WQ_BAD_HANDLE, "a freed store");
    OpenStore();
  }

  wq_add_options AddOptions() {
    wq_add_options options = {};
    options.size = sizeof options;
    const uint8_t byte = in_.Byte();
    options.has_lane = byte & 1;
    options.lane = static_cast<int32_t>(in_.Number());
    options.durability = byte >> 1 & 3;
    options.has_retry_delay = byte >> 3 & 1;
    options.retry_delay_us = static_cast<int64_t>(in_.Number());
    options.group = (byte & 0x10) != 0 ? "group" : nullptr;
    options.group_size = options.group == nullptr ? byte >> 7 : 5;
    return options;
  }

  void Add() {
    const std::string key = in_.Bytes();
    const std::string failure = in_.Bytes();
    const wq_add_options options = AddOptions();
    int32_t outcome = WQ_ADDED;
    const wq_queue queue = AQueue();
    switch (in_.Byte() % 3) {
      case 0:
        Check(wq_queue_add(queue, key.data(), key.size(), &options, &outcome, &error_));
        break;
      case 1:
        Check(wq_queue_add_after(queue, key.data(), key.size(), static_cast<int64_t>(in_.Number()),
                                 &options, &outcome, &error_));
        break;
      default:
        Check(wq_queue_add_rate_limited(queue, key.data(), key.size(), failure.data(),
                                        failure.size(), &options, &outcome, &error_));
    }
    WQ_CHECK(outcome >= WQ_ADDED && outcome <= WQ_HELD, "an odd outcome");
  }

  void AddBatch() {
    std::string list;
    for (uint8_t n = in_.Byte() % 5; n > 0; --n) {
      const std::string key = in_.Bytes();
      Check(wq_keys_append(&list_, key.data(), key.size(), &error_));
    }
    if (list_.size > 0) list.assign(list_.data, list_.size - in_.Byte() % 2);
    wq_refused refused[2] = {};
    wq_batch_result result = {};
    result.size = sizeof result;
    result.refused_keys = refused;
    result.refused_capacity = in_.Byte() % 3;
    Check(wq_queue_add_batch(AQueue(), list.data(), list.size(), nullptr, &result, &error_));
    if (list_.size > 10'000) list_.size = 0;
  }

  // A key that is handed out can be Done, once.
  void GetAndDone() {
    const wq_queue queue = AQueue();
    if (Check(wq_queue_get(queue, Timeout(), &bytes_, &error_)) != WQ_OK) return;
    WQ_CHECK(bytes_.size > 0 && bytes_.data[bytes_.size] == '\0', "no key");
    int32_t again = -1;
    WQ_CHECK(wq_queue_added_again(queue, bytes_.data, bytes_.size, &again, nullptr) == WQ_OK,
             "not held");
    if (in_.Byte() % 4 == 0) return;  // The key stays processing.
    WQ_CHECK(wq_queue_done(queue, bytes_.data, bytes_.size, nullptr) == WQ_OK, "not done");
    WQ_CHECK(wq_queue_done(queue, bytes_.data, bytes_.size, nullptr) == WQ_NOT_PROCESSING,
             "done twice");
  }

  void GetBatch() {
    wq_bytes keys = WQ_NO_BYTES;
    size_t count = 0;
    const bool by_worker = in_.Byte() % 2 == 0;
    const wq_worker worker = AWorker();
    const wq_queue queue = AQueue();
    const size_t most = in_.Number();
    const wq_code code =
        Check(by_worker ? wq_worker_get_batch(worker, most, Timeout(), &keys, &count, &error_)
                        : wq_queue_get_batch(queue, most, Timeout(), &keys, &count, &error_));
    if (code == WQ_OK) {
      size_t offset = 0, found = 0, size = 0, missing = 0;
      const char* key = nullptr;
      while (wq_keys_next(keys.data, keys.size, &offset, &key, &size, nullptr) == WQ_OK) ++found;
      WQ_CHECK(found == count && count > 0, "another number of keys");
      Check(wq_queue_done_batch(queue, keys.data, keys.size, &missing, &error_));
    }
    wq_bytes_free(&keys);
  }

  void OfAKey() {
    const wq_queue queue = AQueue();
    const std::string key = in_.Bytes();
    uint64_t requeues = 0;
    int32_t flag = 0;
    size_t position = 0;
    using Verb = wq_code (*)(wq_queue, const char*, size_t, wq_error*);
    static constexpr std::array<Verb, 8> kVerbs = {
        wq_queue_remove, wq_queue_cancel_delay, wq_queue_end_delay, wq_queue_forget,
        wq_queue_done,   wq_queue_release,      wq_queue_drop,      wq_queue_delete};
    const uint8_t pick = in_.Byte() % 13;
    if (pick < kVerbs.size()) {
      Check(kVerbs[pick](queue, key.data(), key.size(), &error_));
    } else if (pick == 12) {
      Check(wq_queue_num_requeues(queue, key.data(), key.size(), &requeues, &error_));
    } else if (pick == 8) {
      Check(wq_queue_is_quarantined(queue, key.data(), key.size(), &flag, &error_));
    } else if (pick == 9) {
      Check(wq_queue_position_of(queue, key.data(), key.size(), &position, &error_));
    } else if (pick == 10) {
      Check(wq_queue_quarantine(queue, key.data(), key.size(), nullptr, in_.Byte() % 2, &error_));
    } else {
      Check(wq_queue_added_again(queue, key.data(), key.size(), &flag, &error_));
    }
  }

  void OfAQueue() {
    const wq_queue queue = AQueue();
    size_t number = 0;
    wq_counts counts = {};
    counts.size = in_.Byte() % 8 == 7 ? 12 : sizeof counts;
    wq_worker worker = WQ_NO_WORKER;
    switch (in_.Byte() % 12) {
      case 0:
        Check(wq_queue_len(queue, &number, &error_));
        break;
      case 1:
        Check(wq_queue_counts(queue, &counts, &error_));
        break;
      case 2:
        Check(wq_queue_name(queue, &bytes_, &error_));
        break;
      case 3:
        Check(wq_queue_flush(queue, in_.Byte() % 5, &error_));
        break;
      case 4:
        Check(wq_queue_pause(queue, static_cast<int64_t>(in_.Number()), &error_));
        break;
      case 5:
        Check(wq_queue_resume(queue, &error_));
        break;
      case 6:
        Check(wq_queue_set_cursor(queue, "cursor", "value", in_.Byte() % 6, &error_));
        break;
      case 7:
        Check(wq_queue_get_cursor(queue, "cursor", &bytes_, &error_));
        break;
      case 8:
        Check(wq_queue_erase_cursor(queue, "cursor", &error_));
        break;
      case 9:
        Check(wq_queue_list(queue, in_.Number(), VisitKey, this, &error_));
        break;
      case 10:
        Check(wq_queue_shut_down_with_drain(queue, Timeout(), &error_));
        break;
      default:
        if (Check(wq_queue_join(queue, &worker, &error_)) == WQ_OK)
          workers_.push_back(worker.handle);
    }
  }

  // A callback may make calls, but not free the store.
  static int32_t VisitKey(void* arg, const wq_queued_key* key) {
    auto* const self = static_cast<Caller*>(arg);
    WQ_CHECK(key->key_size > 0, "an empty key");
    for (const wq_store store : self->stores_) {
      WQ_CHECK(wq_store_free(store, nullptr) != WQ_OK, "freed by its own callback");
    }
    size_t number = 0;
    for (const uint64_t queue : self->queues_)
      self->Check(wq_queue_len({queue}, &number, &self->error_));
    return 1;
  }

  void OfAWorker() {
    const wq_worker worker = AWorker();
    uint32_t shards[4] = {};
    size_t count = 0;
    switch (in_.Byte() % 3) {
      case 0:
        Check(wq_worker_get(worker, Timeout(), &bytes_, &error_));
        break;
      case 1:
        Check(wq_worker_shards(worker, shards, in_.Byte() % 5, &count, &error_));
        break;
      default:
        if (Check(wq_worker_leave(worker, &error_)) == WQ_OK) {
          WQ_CHECK(wq_worker_leave(worker, nullptr) == WQ_BAD_HANDLE, "left twice");
        }
    }
  }

  void OfAStore() {
    const wq_store store = AStore();
    switch (in_.Byte() % 8) {
      case 0:
        Check(wq_store_flush(store, in_.Byte() % 5, &error_));
        break;
      case 1:
        Check(wq_store_health(store, &error_));
        break;
      case 2:
        Check(wq_store_recover(store, &error_));
        break;
      case 3:
        Check(wq_store_queue_names(store, &bytes_, &error_));
        break;
      case 4:
        Check(wq_store_dir(store, &bytes_, &error_));
        break;
      case 5:
        Check(wq_store_close(store, &error_));
        break;
      case 6:
        FreeStore();
        break;
      default:
        Check(wq_queue_shut_down(AQueue(), &error_));
    }
  }

  void Step() {
    switch (in_.Byte() % 16) {
      case 0:
        OpenQueue();
        break;
      case 1:
        AddBatch();
        break;
      case 2:
      case 3:
        GetBatch();
        break;
      case 4:
        OfAWorker();
        break;
      case 5:
        OfAStore();
        break;
      case 6:
      case 7:
        OfAQueue();
        break;
      case 8:
      case 9:
        OfAKey();
        break;
      case 10:
      case 11:
      case 12:
        GetAndDone();
        break;
      default:
        Add();
    }
  }

  CallInput in_;
  std::vector<wq_store> stores_;  // Valid and freed handles, as in the next two.
  std::vector<uint64_t> queues_;
  std::vector<uint64_t> workers_;
  wq_bytes bytes_ = WQ_NO_BYTES;
  wq_bytes list_ = WQ_NO_BYTES;
  wq_error error_ = {};
};

}  // namespace
}  // namespace wq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wq::fuzz::Caller(data, size).Run();
  return 0;
}

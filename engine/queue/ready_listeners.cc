#include "engine/queue/ready_listeners.h"

#include <utility>

namespace wq {

ReadyListeners::Table& ReadyListeners::Made() {
  Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr) {
    auto made = std::make_unique<Table>();
    if (table_.compare_exchange_strong(table, made.get(), std::memory_order_acq_rel)) {
      table = made.release();
    }
  }
  return *table;
}

uint64_t ReadyListeners::Add(std::function<void()> function) {
  auto listener = std::make_unique<Listener>();
  listener->function = std::move(function);
  Table& table = Made();
  const MutexLock lock(table.mu);
  table.listeners.emplace(++table.last_id, std::move(listener));
  return table.last_id;
}

void ReadyListeners::Remove(uint64_t id) {
  Table* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) {
    return;
  }
  const MutexLock lock(table->mu);
  const auto found = table->listeners.find(id);
  if (found == table->listeners.end()) {
    return;
  }
  const std::unique_ptr<Listener> listener = std::move(found->second);
  table->listeners.erase(found);
  while (listener->calls > 0) {
    table->call_ended.Wait(table->mu);
  }
}

void ReadyListeners::CallAll(const Table& table) {
  // One at a time, as a function may remove other listeners.
  for (uint64_t id = 0;;) {
    Listener* listener = nullptr;
    {
      const MutexLock lock(table.mu);
      const auto next = table.listeners.upper_bound(id);
      if (next == table.listeners.end()) {
        return;
      }
      id = next->first;
      listener = next->second.get();
      ++listener->calls;
    }
    listener->function();
    {
      const MutexLock lock(table.mu);
      --listener->calls;  // From here on, Remove may free it.
    }
    table.call_ended.NotifyAll();
  }
}

}  // namespace wq

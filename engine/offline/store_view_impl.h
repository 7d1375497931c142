// StoreView::Impl: the open files of a view, and its queues. Immutable after StoreView::Open.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "storage/records.h"
#include "wq/store_view.h"

namespace wq {

struct StoreView::Impl {
  // NotFound names the queue.
  Status IdOf(std::string_view queue, storage::QueueId* id) const;

  StoreInfo info;
  std::unique_ptr<storage::Reader> reader;
  std::map<std::string, storage::QueueRecord, std::less<>> queues;  // By name.
};

}  // namespace wq

// StoreView::Impl: the open files of a view, and its queues. Immutable after StoreView::Open.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "storage/records.h"
#include "storage/store_directory.h"
#include "wq/store_view.h"

namespace wq {

struct StoreView::Impl {
  // NotFound names the queue.
  Status IdOf(std::string_view queue, storage::QueueId* id) const;
  // What each call returns: the error of reading rows, with what to do next if they are damaged.
  Status Result(Status read) const { return storage::Refused(info.dir, std::move(read)); }

  StoreInfo info;
  std::unique_ptr<storage::Reader> reader;
  std::map<std::string, storage::QueueRecord, std::less<>> queues;  // By name.
};

// storage::ScanSources without what is removed. Corruption: an object is of no source.
Status ScanLivingSources(const storage::Reader& reader, storage::QueueId queue,
                         const std::function<bool(const storage::SourceRecord&)>& source,
                         const std::function<bool(const storage::ObjectRecord&)>& object);

}  // namespace wq

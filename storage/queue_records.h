// The records of one queue as a whole: whether there are any, and how they are removed.
#pragma once

#include <string_view>

#include "storage/records.h"
#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// What an import adds to a queue's name while what it reads has not taken the name, and while what it
// took the name from is being erased. A kill leaves such queues: nobody's, until the next import
// removes them.
inline constexpr std::string_view kLoadingSuffix = "~loading";
inline constexpr std::string_view kReplacedSuffix = "~replaced";
// The name without such a suffix; `name` itself if it has none.
std::string_view WithoutImportSuffix(std::string_view name);
inline bool IsOfImport(std::string_view name) { return WithoutImportSuffix(name) != name; }

// Whether the queue has neither keys nor failures nor cursors. Its name and state do not count.
Status HasNoRecords(const Reader& reader, QueueId queue, bool* none);

// Erases the same, in batches of bounded size. A crash leaves a part, and a second call removes that.
// Blocks: for as long as reading all of them takes.
Status EraseQueueRecords(QueueId queue, Storage* storage);

// Appends the erasure of the queue's name and state. Only after EraseQueueRecords: the name is what
// keeps the id from being given to another queue.
void EraseQueue(std::string_view name, QueueId queue, MutationBatch* batch);
// Of the name alone. For a queue that goes by another one from the same batch on.
void EraseQueueName(std::string_view name, MutationBatch* batch);

}  // namespace wq::storage

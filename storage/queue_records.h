// The records of one queue as a whole: whether it has any, and their removal.
#pragma once

#include <string_view>

#include "storage/records.h"
#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// Suffixes that no queue's name can have. An import writes a queue under its name and
// kLoadingSuffix until it is complete. The queue that it replaces has kReplacedSuffix while it is
// erased. A killed import leaves such queues; the next import removes them, and nothing else uses
// them.
inline constexpr std::string_view kLoadingSuffix = "~loading";
inline constexpr std::string_view kReplacedSuffix = "~replaced";
// The name without such a suffix; `name` if it has none.
std::string_view WithoutImportSuffix(std::string_view name);
inline bool IsOfImport(std::string_view name) { return WithoutImportSuffix(name) != name; }

// Whether the queue has neither keys nor failures nor cursors. Its name and state do not count.
Status HasNoRecords(const Reader& reader, QueueId queue, bool* none);

// Erases these records in batches of bounded size. A crash leaves a part of them, which a second
// call removes. Blocks: for as long as reading all of them takes.
Status EraseQueueRecords(QueueId queue, Storage* storage);

// Appends the erasure of the queue's name and state. Only after EraseQueueRecords: as long as the
// name is stored, no other queue gets the id.
void EraseQueue(std::string_view name, QueueId queue, MutationBatch* batch);
// Erases the name only. For a queue that has another name from the same batch on.
void EraseQueueName(std::string_view name, MutationBatch* batch);

}  // namespace wq::storage

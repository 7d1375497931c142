// The records of one queue as a whole: whether it has any, and their removal.
#pragma once

#include <functional>
#include <string_view>

#include "storage/records.h"
#include "storage/storage.h"
#include "wq/status.h"

namespace wq::storage {

// Suffixes that no queue's name can have. An import writes a queue under its name and
// kLoadingSuffix until it is complete. A queue that is replaced, or deleted, has kReplacedSuffix
// while it is erased. A killed import or deletion leaves such queues; the next import or deletion
// removes them, and nothing else uses them.
inline constexpr std::string_view kLoadingSuffix = "~loading";
inline constexpr std::string_view kReplacedSuffix = "~replaced";
// The name without such a suffix; `name` if it has none.
std::string_view WithoutImportSuffix(std::string_view name);
inline bool IsOfImport(std::string_view name) { return WithoutImportSuffix(name) != name; }

// Whether the queue has neither keys nor failures, cursors or sources. Its name and state do not
// count.
Status HasNoRecords(const Reader& reader, QueueId queue, bool* none);

// Erases these records by `write`, in batches of bounded size, during a scan of them. A crash
// leaves a part of them, which a second call removes. Blocks: for as long as reading all of them
// takes.
using WriteBatch = std::function<Status(MutationBatch&)>;
Status EraseQueueRecords(QueueId queue, const Reader& reader, const WriteBatch& write);
Status EraseQueueRecords(QueueId queue, Storage* storage);

// Appends the change of the name to one with kReplacedSuffix: the queue is gone, and its id stays
// taken until its records are erased.
void ReplaceQueue(const QueueRecord& queue, MutationBatch* batch);
// Appends the erasure of the queue's name and state. Only after EraseQueueRecords: as long as the
// name is stored, no other queue gets the id.
void EraseQueue(std::string_view name, QueueId queue, MutationBatch* batch);
// Erases the name only. For a queue that has another name from the same batch on.
void EraseQueueName(std::string_view name, MutationBatch* batch);

}  // namespace wq::storage

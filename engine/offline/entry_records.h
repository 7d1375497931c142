// Conversions between the entries of a view, a dump or an import and the records of a store. Pure.
#pragma once

#include <cstdint>

#include "storage/records.h"
#include "wq/entry.h"

namespace wq {

FailureInfo ToInfo(const storage::FailureRecord& record);
void Fill(const storage::PendingRecord& record, Entry* entry);
void Fill(const storage::DelayedRecord& record, Entry* entry);
void Fill(const storage::QuarantineRecord& record, Entry* entry);     // The failures too.
void Fill(const storage::QueueStateRecord& record, QueueInfo* info);  // But the high-water mark.

// Appends the rows of the entry. `sequence` is that of a pending entry.
void PutEntry(storage::QueueId queue, const Entry& entry, uint64_t sequence,
              storage::MutationBatch* batch);

}  // namespace wq

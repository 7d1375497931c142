// Checks of what an Importer takes, each record by itself (storage/row_rules.h). Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/row_rules.h"
#include "wq/entry.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

// InvalidArgument, naming the key, queue or cursor, if no queue could have this.
Status CheckImported(const QueueInfo& info);
// REQUIRES for a delayed entry: CompleteTimes was called.
Status CheckImported(const Entry& entry);
// Sets times that are unknown (0): a key is pending or in quarantine since now, and a delay whose
// end is to come begins now, and lasts until then. Without these an opening would end it early.
void CompleteTimes(int64_t now_us, Entry* entry);
Status CheckImportedCursor(std::string_view name, std::string_view value);
// InvalidArgument that names what breaks the rule; Ok for kNone.
Status RefuseImported(std::string_view what, std::string_view name, storage::RowRule broken);

}  // namespace wq

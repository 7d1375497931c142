// Checks of what an Importer takes, each record by itself (storage/row_rules.h). Pure.
#pragma once

#include <string_view>

#include "wq/entry.h"
#include "wq/status.h"

namespace wq {

// InvalidArgument, naming the key, queue or cursor, if no queue could have this.
Status CheckImported(const QueueInfo& info);
Status CheckImported(const Entry& entry);
Status CheckImportedCursor(std::string_view name, std::string_view value);

}  // namespace wq

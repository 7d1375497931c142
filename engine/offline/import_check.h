// Checks of what an Importer takes, each record by itself (storage/row_rules.h). Pure.
#pragma once

#include <string_view>

#include "wq/entry.h"
#include "wq/options.h"
#include "wq/status.h"

namespace wq {

// InvalidArgument, naming the key, queue, cursor or group, if no queue could have this.
Status CheckImported(const QueueInfo& info);
Status CheckImported(const Entry& entry);
Status CheckImportedCursor(std::string_view name, std::string_view value);
Status CheckImportedLimits(std::string_view group, const GroupLimits& limits);

}  // namespace wq

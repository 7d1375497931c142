// What an Importer takes: each record alone. Pure.
#pragma once

#include <string_view>

#include "wq/entry.h"
#include "wq/status.h"

namespace wq {

// InvalidArgument, naming the key, if no queue could hold this; Ok otherwise.
Status CheckImported(const QueueInfo& info);
Status CheckImported(const Entry& entry);
Status CheckImportedCursor(std::string_view name, std::string_view value);

}  // namespace wq

// Settle: changes salvaged rows until they break no rule (storage/row_rules.h).
#pragma once

#include "storage/salvage.h"
#include "wq/repair.h"

namespace wq {

// Each row that is dropped or changed is a loss in the report, with the text of the rule, but for
// the versions of objects, which are emptied after any loss. A
// salvaged row may be outdated, because the erasure or the put that followed it was lost; of two
// rows that exclude each other, the younger row is kept. Also sets the report's counts.
void Settle(storage::SalvagedRecords* records, RepairReport* report);

}  // namespace wq

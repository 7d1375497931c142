// Findings: the signs of trouble that an overview shows, in sentences.
//
// They depend on the overview alone, and change only when something changes: an age is said in
// steps. Threading: thread-safe.
#pragma once

#include "wq/v1/browse.pb.h"

namespace wq {

// Sets `findings` from the other fields: bad ones first, then by queue. `live`: it is the overview
// of a server, so its rates, workers and processing keys say whether somebody works; otherwise it
// is that of a store as it is on disk.
void AddFindings(bool live, v1::GetOverviewResponse* overview);

}  // namespace wq

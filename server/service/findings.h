// Findings: the signs of trouble that an overview shows, in sentences.
//
// They depend on the overview alone, and change only when something changes: an age is said in
// steps. Threading: thread-safe.
#pragma once

#include "wq/v1/browse.pb.h"

namespace wq {

// Sets `findings` from the other fields: bad ones first, then by queue.
void AddFindings(v1::GetOverviewResponse* overview);

}  // namespace wq

// What the message of a refused store must say.
#pragma once

#include <set>
#include <string>

#include "wq/status.h"

namespace wq::storage {

// What is wrong with the message of a store in `dir` that is refused as damaged; empty: nothing. It
// says what is wrong, nothing of it twice, and names one of `files`; then the next step, unless
// `is_row`: an error of a Reader, to which the caller adds it.
std::string FaultOfRefusal(const std::string& dir, const std::set<std::string>& files,
                           const std::string& message, bool is_row = false);

}  // namespace wq::storage

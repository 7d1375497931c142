// The message of a key.
#pragma once

#include <cstddef>

#include "wq/queue.h"
#include "wq/v1/browse.pb.h"

namespace wq {

// The row has the first `error_bytes` of the error. It replaces what *row had.
void ToKeyRow(const KeyInfo& key, size_t error_bytes, v1::KeyRow* row);

}  // namespace wq

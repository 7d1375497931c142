// Job: one key that was handed out, on its way through a command. Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/wqctl/work/work_queue.h"

namespace wqctl {

struct Job {
  std::shared_ptr<WorkQueue> queue;
  std::string queue_name;
  std::string key;
  uint64_t token = 0;     // Of the assignment.
  uint64_t failures = 0;  // Before this attempt.
  uint64_t attempt = 0;   // 1 plus the key's failures.
  wq::Causes causes;      // Of the Adds since the hand-out before.
};

}  // namespace wqctl

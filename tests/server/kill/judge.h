// Judge: checks the events of a served store, its workers and its adders against the promises of
// docs/server.md.
//
// Only what is certain counts. A key was held at least from the event of its assignment to the
// event before its answer, if the answer was accepted; an Add took effect between its two events.
#pragma once

#include <string>
#include <vector>

#include "tests/server/kill/event_log.h"

namespace wq::support {

struct JudgeOptions {
  // Whether a server may take keys from a worker that is connected.
  bool may_lose_keys = false;
  // Whether the queue was empty at the end.
  bool drained = true;
};

struct Judgement {
  std::vector<std::string> violations;  // At most 20.
  uint64_t assignments = 0;
  uint64_t accepted = 0;
  uint64_t refused = 0;
  uint64_t added = 0;
};

Judgement Judge(const std::vector<Event>& events, const JudgeOptions& options);

}  // namespace wq::support

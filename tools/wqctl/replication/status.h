// What wqctl replication status prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/wqctl/text/output.h"
#include "wq/replicated_log.h"

namespace wqctl {

struct LogReport {
  std::string log;  // ReplicatedLog::Name.
  wq::LogState state;
  std::vector<wq::LogMember> members;
  int64_t now_us = 0;
};

// Whether the log has an owner, and all members can be reached and have no alarm.
bool IsHealthy(const LogReport& report);

// The fields that docs/wqctl.md lists, indented, with a line end.
std::string LogReportJson(const LogReport& report);

void PrintLogReport(const LogReport& report, Output* out);

}  // namespace wqctl

// The C interface: verifying and repairing stores.

#include "wq/verify.h"

#include <vector>

#include "bindings/c/boundary/arguments.h"
#include "bindings/c/boundary/call.h"
#include "bindings/c/boundary/fork.h"
#include "wq/repair.h"
#include "wq/wq.h"

namespace {

using wq::Status;
using wq::c::NullArgument;

// T has `where` and `what`.
template <typename T>
void ShowEach(const std::vector<T>& findings, wq_visit_finding visit, void* arg) {
  if (visit == nullptr) {
    return;
  }
  const wq::c::CallbackScope scope;
  for (const T& finding : findings) {
    visit(arg, finding.where.c_str(), finding.what.c_str());
  }
}

}  // namespace

extern "C" {

wq_code wq_verify(const char* dir, size_t max_findings, wq_verify_report* report,
                  wq_visit_finding visit, void* arg, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (dir == nullptr) {
      return NullArgument("dir");
    }
    if (Status s = wq::c::CheckSized("report", report); !s.ok()) {
      return s;
    }
    wq::VerifyOptions options;
    if (max_findings != 0) {
      options.max_findings = max_findings;
    }
    wq::c::WatchForks();
    wq::VerifyReport found;
    if (Status s = wq::Verify(dir, options, &found); !s.ok()) {
      return s;
    }
    const wq_verify_report out{.size = 0,
                               .findings = found.findings.size() + found.more_findings,
                               .owner_alive = found.owner_alive ? 1 : 0,
                               .tables = found.tables,
                               .logs = found.logs,
                               .queues = found.queues,
                               .rows = found.rows};
    wq::c::WriteSized(out, report);
    ShowEach(found.findings, visit, arg);
    return {};
  });
}

wq_code wq_repair(const char* dir, const char* into, wq_repair_report* report,
                  wq_visit_finding visit, void* arg, wq_error* error) {
  return wq::c::Enter(error, [&]() -> Status {
    if (dir == nullptr || into == nullptr) {
      return NullArgument("dir or into");
    }
    if (Status s = wq::c::CheckSized("report", report); !s.ok()) {
      return s;
    }
    wq::c::WatchForks();
    wq::RepairReport saved;
    if (Status s = wq::Repair(dir, into, &saved); !s.ok()) {
      return s;
    }
    const wq_repair_report out{
        .size = 0, .losses = saved.losses.size(), .records = saved.records, .queues = saved.queues};
    wq::c::WriteSized(out, report);
    ShowEach(saved.losses, visit, arg);
    return {};
  });
}

}  // extern "C"

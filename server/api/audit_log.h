// AuditLog: a file with a line for each administrative call: who has changed what.
//
//   AuditLog log;
//   Status s = log.Open("/var/log/wq/audit.jsonl");
//   log.Audit(&table);   // From now on its audited methods write their lines.
//
// A line is a JSON object:
//   {"at": "2026-01-31T12:00:00.123456Z", "peer": "unix:4711", "call": "Admin.Change",
//    "request": {"queue": "pods", "kind": "DELETE", "keys": ["default/web-1"], "key_count": 1},
//    "status": "Ok", "response": {"done": "1"}}
// Keys, and the bytes of a filter, are escaped as in messages, and only the first kMaxAuditedKeys
// of a call are in its line. A call that failed has its status and "message" instead of "response".
// A dry run that succeeds has no line.
//
// A line is written after its call. If that fails, the line is kept, and further calls are refused
// until it is written: so only calls that were under way when the process was killed have no line.
// Lines are not synced: a power cut may lose the last ones. Threading: thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "base/files.h"
#include "base/mutex.h"
#include "server/api/method.h"
#include "wq/status.h"

namespace wq {

class AuditLog {
 public:
  static constexpr int kMaxAuditedKeys = 10;

  // Opens the file to append to it, and makes it with mode 0600 if there is none. Called again it
  // opens the same path anew, for a file that was renamed; after an error the former file is
  // written to. IOError: the message names the path.
  Status Open(const std::string& path) WQ_EXCLUDES(mu_);

  // Makes the audited methods of the table write their lines. Such a call returns IOError, and is
  // not made, while the line of an earlier one cannot be written. REQUIRES: it outlives the table.
  void Audit(MethodTable* table);

 private:
  // Writes what is left of lines_. IOError otherwise.
  Status Write() WQ_EXCLUDES(mu_);
  void Record(const Method& method, const Caller& caller, const std::string& at,
              const Message& request, const Status& status, const Message& response)
      WQ_EXCLUDES(mu_);

  Mutex mu_;
  std::string path_ WQ_GUARDED_BY(mu_);
  FileDescriptor file_ WQ_GUARDED_BY(mu_){-1};
  std::string lines_ WQ_GUARDED_BY(mu_);  // Not written yet.
};

}  // namespace wq

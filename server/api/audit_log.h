// AuditLog: a file with lines for each call that changes something: who has changed what.
//
//   AuditLog log;
//   Status s = log.Open("/var/log/wq/audit.jsonl");
//   log.Audit(&table);   // From now on its audited methods write their lines.
//
// A line is a JSON object. An administrative call has two, before and after it; the second:
//   {"at": "2026-01-31T12:00:00.123456Z", "peer": "unix:4711", "role": "operator",
//    "call": "Admin.Change",
//    "request": {"queue": "pods", "kind": "DELETE", "keys": ["default/web-1"], "key_count": 1},
//    "status": "Ok", "response": {"done": "1"}}
// The first one ends behind the request. A client that has shown a token has "token", the token's
// file, behind its role. Keys, and the bytes of a filter, are escaped as in messages, and only the
// first kMaxAuditedKeys of a call are in its lines. A call that failed has its status and "message"
// instead of "response". An Add has the first line alone, and the second if it failed as a
// whole. A call that changes nothing (a dry run, no keys) has a
// line only if it failed, the second. Each opening of the file has a line, too.
//
// A call is made only when its first line is in the file: so there is no change without a line. If
// the second one cannot be written, it is kept, and further calls are refused until it is written:
// a call that has two has the first alone if it was under way when the process was killed. Lines
// are not synced: a power cut may lose the last ones. Nothing waits for the reader of a FIFO.
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "base/files.h"
#include "base/mutex.h"
#include "server/api/method.h"
#include "wq/status.h"

namespace wq {

class AuditLog {
 public:
  static constexpr int kMaxAuditedKeys = 10;

  // Opens the file, makes it with mode 0600 if there is none, and appends a line that says so.
  // Called again it opens the same path anew, for a file that was renamed; after an error the
  // former file is written to. IOError, naming the path: it cannot be opened or written.
  Status Open(const std::string& path) WQ_EXCLUDES(mu_);

  // Makes the audited methods of the table write their lines. Such a call returns IOError, and is
  // not made, while its first line, or the second of an earlier call, cannot be written. REQUIRES:
  // it outlives the table.
  void Audit(MethodTable* table);

  // Appends the line {"at": …, "peer": host, "call": "Token.Wrong", "count": …}. If it cannot be
  // written there is none.
  void NoteWrongTokens(const std::string& host, uint64_t count) WQ_EXCLUDES(mu_);

 private:
  struct File {
    std::string path;
    FileDescriptor fd{-1};
    bool torn = false;  // It ends with a part of a line.
  };
  // Appends the line. IOError: nothing of it is in the file, or the file is torn.
  static Status Append(const std::string& line, File* file);
  Status WriteKept() WQ_REQUIRES(mu_);
  // Makes the call between its lines.
  Status AuditCall(const Method& method, const Caller& caller, const Message& request,
                   Message* response, const std::function<Status()>& call) WQ_EXCLUDES(mu_);
  // Writes the kept lines, and the first line of a call; empty: it has none.
  Status Begin(const std::string& line) WQ_EXCLUDES(mu_);
  void Finish(std::string line) WQ_EXCLUDES(mu_);

  Mutex mu_;
  File file_ WQ_GUARDED_BY(mu_);
  std::deque<std::string> kept_ WQ_GUARDED_BY(mu_);  // Second lines that are not written yet.
};

}  // namespace wq

// JobLog: a file with a line for each command that ended, in the format of GNU parallel's --joblog.
//
//   Seq  Host  Starttime  JobRuntime  Send  Receive  Exitval  Signal  Command
//
// Fields are separated by tabs. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "tools/wqctl/work/job.h"
#include "tools/wqctl/work/runner.h"
#include "wq/status.h"

namespace wqctl {

class JobLog {
 public:
  // Replaces the file, or continues it if `path` begins with "+". The mode follows `mask`. IOError
  // names the file.
  static wq::Status Open(const std::string& path, mode_t mask, std::unique_ptr<JobLog>* log);
  ~JobLog();
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;

  // IOError names the file.
  wq::Status Add(const Job& job, const CommandResult& result, uint64_t stdout_bytes,
                 const std::string& command);

 private:
  JobLog(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  wq::Status Write(const std::string& line);

  const std::string path_;
  wq::Mutex mu_;
  const int fd_;
};

}  // namespace wqctl

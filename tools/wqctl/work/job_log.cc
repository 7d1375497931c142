#include "tools/wqctl/work/job_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "tools/wqctl/text/log.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr std::string_view kHeader =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

wq::Status JobLogError(const std::string& path, int error) {
  return wq::Status::IOError("job log \"" + wq::EscapeKey(path) + "\": " + ErrnoText(error));
}

// "1.500": seconds with milliseconds.
std::string Seconds(int64_t us) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(us / 1'000'000),
                static_cast<long long>(us / 1000 % 1000));
  return text;
}

}  // namespace

wq::Status JobLog::Open(const std::string& path, mode_t mask, std::unique_ptr<JobLog>* log) {
  const bool append = path.starts_with('+');
  const std::string name = append ? path.substr(1) : path;
  const mode_t ours = umask(mask);
  // O_NONBLOCK: the opening does not wait for the reader of a FIFO; the writes do.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  const int fd = open(name.c_str(), append ? kFlags : kFlags | O_TRUNC, 0666);
  const int error = errno;
  umask(ours);
  if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND) != 0) return JobLogError(name, error);
  log->reset(new JobLog(name, fd));
  struct stat info = {};
  if (fstat(fd, &info) == 0 && info.st_size > 0) return wq::Status::Ok();
  return (*log)->Write(std::string(kHeader));
}

JobLog::~JobLog() { close(fd_); }

wq::Status JobLog::Add(const Job& job, const CommandResult& result, uint64_t stdout_bytes,
                       const std::string& command) {
  const int status = result.wait_status;
  std::string seconds = Seconds(result.ran_for.count());
  seconds.insert(0, seconds.size() < 10 ? 10 - seconds.size() : 0, ' ');
  return Write(
      std::to_string(job.sequence) + "\t:\t" + Seconds(result.started_at_us) + "\t" + seconds +
      "\t0\t" + std::to_string(stdout_bytes) + "\t" +
      (result.timed_out ? "-1" : std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 0)) +
      "\t" + std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) + "\t" + command + "\n");
}

wq::Status JobLog::Write(const std::string& line) {
  const wq::MutexLock lock(mu_);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return JobLogError(path_, errno);
    rest.remove_prefix(static_cast<size_t>(n));
  }
  return wq::Status::Ok();
}

}  // namespace wqctl

#include "storage/rocksdb/info_log.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include "base/files.h"
#include "base/mutex.h"

namespace wq::storage {
namespace {

class InfoLog final : public rocksdb::Logger {
 public:
  explicit InfoLog(const std::string& dir)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(dir + "/LOG") {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

 private:
  void MakeReady() WQ_REQUIRES(mu_);

  const std::string path_;
  Mutex mu_;
  FileDescriptor file_ WQ_GUARDED_BY(mu_){-1};
  size_t bytes_ WQ_GUARDED_BY(mu_) = 0;
};

// "2026-01-31T12:00:00Z ", or nothing.
size_t PutTime(char* text, size_t size) {
  const std::time_t now = std::time(nullptr);
  struct tm parts = {};
  if (gmtime_r(&now, &parts) == nullptr) return 0;
  return std::strftime(text, size, "%FT%TZ ", &parts);
}

void InfoLog::MakeReady() {
  if (file_.valid() && bytes_ >= kMaxLogBytes) {
    rename(path_.c_str(), (path_ + ".old.1").c_str());
    file_ = FileDescriptor(-1);
  }
  if (!file_.valid()) {
    file_ = FileDescriptor(open(
        path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    struct stat info = {};
    bytes_ =
        file_.valid() && fstat(file_.get(), &info) == 0 ? static_cast<size_t>(info.st_size) : 0;
  }
}

void InfoLog::Logv(const char* format, va_list arguments) {
  std::array<char, 4096> line;
  size_t size = PutTime(line.data(), line.size());
  const int put = std::vsnprintf(line.data() + size, line.size() - size, format, arguments);
  if (put < 0) return;
  size = std::min(size + static_cast<size_t>(put), line.size() - 1);
  if (line[size - 1] != '\n') line[size++] = '\n';
  const MutexLock lock(mu_);
  MakeReady();
  if (!file_.valid()) return;
  const ssize_t written = write(file_.get(), line.data(), size);
  bytes_ += written > 0 ? static_cast<size_t>(written) : 0;
}

}  // namespace

std::shared_ptr<rocksdb::Logger> OpenInfoLog(const std::string& dir) {
  return std::make_shared<InfoLog>(dir);
}

}  // namespace wq::storage

#include "storage/history_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/file_calls.h"
#include "storage/history/format.h"
#include "storage/history/segments.h"

namespace wq::storage {
namespace {

constexpr uint64_t kSegments = 8;

uint64_t SizeOf(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// Removes the oldest segments until the others have at most `bytes`.
Status RemoveOldest(std::vector<HistorySegment>* segments, uint64_t bytes) {
  uint64_t total = 0;
  auto keep = segments->rbegin();
  for (; keep != segments->rend(); ++keep) {
    const uint64_t size = SizeOf(keep->path);
    if (size > bytes - total) break;
    total += size;
  }
  for (; keep != segments->rend(); ++keep) {
    if (CurrentFileCalls().Remove(keep->path) != 0 && errno != ENOENT) {
      return IOErrorOf("cannot remove", keep->path, errno);
    }
  }
  return {};
}

}  // namespace

HistoryLog::HistoryLog(std::string store_dir, uint64_t max_bytes)
    : dir_(std::move(store_dir) + "/" + kHistoryDirectory), max_bytes_(max_bytes) {}

Status HistoryLog::Rotate(int64_t at_us) {
  if (CurrentFileCalls().MakeDirectory(dir_) != 0 && errno != EEXIST) {
    return IOErrorOf("cannot create", dir_, errno);
  }
  std::vector<HistorySegment> segments;
  if (Status s = ListSegments(dir_, &segments); !s.ok()) return s;
  const uint64_t number = segments.empty() ? 1 : segments.back().number + 1;
  if (Status s = RemoveOldest(&segments, max_bytes_ - max_bytes_ / kSegments); !s.ok()) return s;
  segment_path_ = SegmentPath(dir_, number);
  segment_ = FileDescriptor(
      CurrentFileCalls().Open(segment_path_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC));
  if (!segment_.valid()) return IOErrorOf("cannot create", segment_path_, errno);
  segment_bytes_ = kSegmentHeaderBytes;
  return WriteAll(segment_.get(), segment_path_, EncodeSegmentHeader(at_us));
}

Status HistoryLog::Append(const HistoryBlock& block, std::string_view events) {
  EncodeBlock(block, events, &buffer_);
  if (!segment_.valid() || segment_bytes_ + buffer_.size() > max_bytes_ / kSegments) {
    if (Status s = Rotate(block.first_at_us); !s.ok()) return s;
  }
  segment_bytes_ += buffer_.size();
  return WriteAll(segment_.get(), segment_path_, buffer_);
}

}  // namespace wq::storage

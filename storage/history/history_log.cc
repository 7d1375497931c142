#include "storage/history_log.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "base/file_calls.h"
#include "storage/history/format.h"

namespace wq::storage {
namespace {

constexpr uint64_t kSegments = 8;

// The latest time if it cannot be read.
int64_t BegunAtUs(const std::string& path) {
  std::string header;
  int64_t begun_at_us = 0;
  const bool known = ReadSmallFile(path, kSegmentHeaderBytes, &header).ok() &&
                     DecodeSegmentHeader(header, &begun_at_us);
  return known ? begun_at_us : std::numeric_limits<int64_t>::max();
}

// Removes the oldest segments until the others have at most `bytes`, and none ends before
// `begin_us`. A segment ends where the next one begins.
Status RemoveOldest(const std::string& dir, const std::vector<NumberedFile>& segments,
                    uint64_t bytes, int64_t begin_us) {
  uint64_t total = 0;
  auto keep = segments.rbegin();
  for (bool ended = false; keep != segments.rend() && !ended; ++keep) {
    const std::string path = dir + "/" + keep->name;
    const uint64_t size = FileBytes(path);
    if (size > bytes - total) break;
    total += size;
    ended = BegunAtUs(path) <= begin_us;
  }
  for (; keep != segments.rend(); ++keep) {
    const std::string path = dir + "/" + keep->name;
    if (CurrentFileCalls().Remove(path) != 0 && errno != ENOENT) {
      return IOErrorOf("cannot remove", path, errno);
    }
  }
  return {};
}

}  // namespace

HistoryLog::HistoryLog(std::string store_dir, const HistoryBounds& bounds)
    : dir_(std::move(store_dir) + "/" + kHistoryDirectory), bounds_(bounds) {}

Status HistoryLog::Rotate(int64_t at_us) {
  if (CurrentFileCalls().MakeDirectory(dir_) != 0 && errno != EEXIST) {
    return IOErrorOf("cannot create", dir_, errno);
  }
  std::vector<NumberedFile> segments;
  if (Status s = ListNumbered(dir_, "", ".log", &segments); !s.ok()) return s;
  const uint64_t number = segments.empty() ? 1 : segments.back().number + 1;
  const int64_t begin_us =
      bounds_.age_us == 0 ? std::numeric_limits<int64_t>::min() : at_us - bounds_.age_us;
  const uint64_t others = bounds_.bytes - bounds_.bytes / kSegments;
  if (Status s = RemoveOldest(dir_, segments, others, begin_us); !s.ok()) return s;
  segment_path_ = absl::StrCat(dir_, "/", absl::Dec(number, absl::kZeroPad8), ".log");
  segment_ = FileDescriptor(
      CurrentFileCalls().Open(segment_path_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC));
  if (!segment_.valid()) return IOErrorOf("cannot create", segment_path_, errno);
  segment_bytes_ = kSegmentHeaderBytes;
  begun_at_us_ = at_us;
  return WriteAll(segment_.get(), segment_path_, EncodeSegmentHeader(at_us));
}

bool HistoryLog::SegmentIsFull(int64_t at_us, size_t block_bytes) const {
  return segment_bytes_ + block_bytes > bounds_.bytes / kSegments ||
         (bounds_.age_us > 0 && at_us - begun_at_us_ > bounds_.age_us / int64_t{kSegments});
}

Status HistoryLog::Append(const HistoryBlock& block, std::string_view events) {
  EncodeBlock(block, events, &buffer_);
  if (!segment_.valid() || SegmentIsFull(block.first_at_us, buffer_.size())) {
    if (Status s = Rotate(block.first_at_us); !s.ok()) return s;
  }
  segment_bytes_ += buffer_.size();
  return WriteAll(segment_.get(), segment_path_, buffer_);
}

void HistoryLog::Close() {
  segment_ = FileDescriptor(-1);
  std::string().swap(buffer_);
}

}  // namespace wq::storage

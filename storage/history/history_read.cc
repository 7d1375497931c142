#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "storage/history/format.h"
#include "storage/history_log.h"

namespace wq::storage {
namespace {

// NotFound: an owner has removed the segment.
Status ReadSegment(const std::string& path, std::string* bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) {
    return errno == ENOENT ? Status::NotFound(path) : IOErrorOf("cannot read", path, errno);
  }
  bytes->resize(static_cast<size_t>(info.st_size));
  size_t got = 0;
  Status status = ReadAt(file.get(), path, 0, bytes->size(), bytes->data(), &got);
  bytes->resize(got);
  return status;
}

std::vector<DecodedBlock> BlocksOf(std::string_view segment, std::string_view queue) {
  std::vector<DecodedBlock> blocks;
  DecodedBlock decoded;
  for (segment.remove_prefix(kSegmentHeaderBytes); DecodeBlock(segment, &decoded);
       segment.remove_prefix(decoded.bytes)) {
    if (decoded.block.queue == queue) blocks.push_back(decoded);
  }
  return blocks;
}

}  // namespace

Status ReadHistoryLog(const std::string& store_dir, std::string_view queue,
                      const HistoryVisitor& visit, HistoryExtent* extent) {
  *extent = {};
  const std::string dir = store_dir + "/" + kHistoryDirectory;
  struct stat info = {};
  if (lstat(dir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Status::NotFound(store_dir + " keeps no history");
  }
  std::vector<NumberedFile> segments;
  if (Status s = ListNumbered(dir, "", ".log", &segments); !s.ok()) return s;
  std::reverse(segments.begin(), segments.end());  // The newest first.
  bool wanted = true;
  for (const NumberedFile& segment : segments) {
    std::string bytes;
    if (Status s = ReadSegment(dir + "/" + segment.name, &bytes); !s.ok()) {
      if (s.code() == StatusCode::kNotFound) continue;
      return s;
    }
    int64_t begun_at_us = 0;
    if (!DecodeSegmentHeader(bytes, &begun_at_us)) continue;
    extent->since_us = begun_at_us;
    const std::vector<DecodedBlock> blocks = BlocksOf(bytes, queue);
    for (auto block = blocks.rbegin(); wanted && block != blocks.rend(); ++block) {
      wanted =
          visit(block->block, [&](std::string* events) { return DecodeEvents(*block, events); });
    }
  }
  return {};
}

}  // namespace wq::storage

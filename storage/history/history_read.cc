#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/history/format.h"
#include "storage/history_log.h"

namespace wq::storage {
namespace {

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
                      const HistoryVisitor& visit, int64_t* since_us) {
  *since_us = 0;
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
    const std::string path = dir + "/" + segment.name;
    FileDescriptor file(-1);
    uint64_t size = 0;
    Status s = OpenToRead(path, &file, &size);
    if (s.code() == StatusCode::kNotFound) continue;  // An owner has removed it.
    bytes.resize(size);
    size_t got = 0;
    if (s.ok()) s = ReadAt(file.get(), path, 0, size, bytes.data(), &got);
    if (!s.ok()) return s;
    bytes.resize(got);
    if (!DecodeSegmentHeader(bytes, since_us)) continue;
    const std::vector<DecodedBlock> blocks = BlocksOf(bytes, queue);
    for (auto block = blocks.rbegin(); wanted && block != blocks.rend(); ++block) {
      wanted =
          visit(block->block, [&](std::string* events) { return DecodeEvents(*block, events); });
    }
  }
  return {};
}

}  // namespace wq::storage

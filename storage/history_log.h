// HistoryLog: the files of a store's history, DIR/history/NNNNNNNN.log: segments of blocks of
// events. A block is of one queue.
//
//   HistoryLog log(dir, {.bytes = 64 << 20, .age_us = 0});
//   Status s = log.Append({.queue = "pods", .created_at_us = 1, .first_at_us = 2}, events);
//
// A log writes a new segment from its first block on, and after an eighth of its bytes or of its
// age; before that it deletes the oldest ones, so that all are within the bounds. Nothing is
// synced: a power cut may leave a torn block, which readers skip.
//
// Threading: a HistoryLog is thread-compatible, and one process has one for a directory. Readers
// may read at any time. Internal to storage/ and engine/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "wq/status.h"

namespace wq::storage {

inline constexpr const char* kHistoryDirectory = "history";
// A block's events have at most so many bytes before compression.
inline constexpr size_t kMaxHistoryBlockBytes = size_t{4} << 20;

struct HistoryBlock {
  std::string queue;
  int64_t created_at_us = 0;  // Of the queue: another one of the same name has another time.
  int64_t first_at_us = 0;    // The time of its first event, or when events were lost.
  uint64_t lost = 0;          // Events that were not kept, before or among those of the block.
};

struct HistoryBounds {
  uint64_t bytes = 0;  // Of all segments.
  int64_t age_us = 0;  // At an Append, no event is older than this and an eighth. 0: any age.
};

class HistoryLog {
 public:
  // Opens nothing before the first Append.
  HistoryLog(std::string store_dir, const HistoryBounds& bounds);

  // Appends a block. After an error the log is not used any more.
  Status Append(const HistoryBlock& block, std::string_view events);

  // Closes the segment and frees the memory. An Append afterwards begins another segment.
  void Close();

 private:
  bool SegmentIsFull(int64_t at_us, size_t block_bytes) const;
  Status Rotate(int64_t at_us);

  const std::string dir_;
  const HistoryBounds bounds_;
  FileDescriptor segment_{-1};
  std::string segment_path_;
  uint64_t segment_bytes_ = 0;
  int64_t begun_at_us_ = 0;  // The segment.
  std::string buffer_;       // Of Append.
};

// Calls `visit` with each intact block of the queue, the newest first, until it returns false.
// `load` reads the block's events; false: they are damaged. Later blocks' `lost` are still passed
// to `visit` if it asks for no events. *since_us: the begin of the oldest segment; 0: there is
// none. NotFound: there is no directory of history.
using HistoryLoader = std::function<bool(std::string* events)>;
using HistoryVisitor = std::function<bool(const HistoryBlock& block, const HistoryLoader& load)>;
Status ReadHistoryLog(const std::string& store_dir, std::string_view queue,
                      const HistoryVisitor& visit, int64_t* since_us);

}  // namespace wq::storage

// Source: adds the paths of the source that may have changed, from inotify and from scans.
//
// One rule makes restarts cheap: the cursor T says that everything that changed before T is in the
// queue, or was and is done. Each Step takes the clock first and then the events until there are none;
// when no directory is left to scan, that time is the new T. The queue keeps a cursor in order with the
// Adds before it, so a crash cannot keep the cursor and lose the Adds; Adds that it loses come behind T.
//
// A scan from T walks all directories (inotify has to watch each), and adds what has ctime >= T:
//   a file or link    its contents, mode or target may be new, or it was moved or linked to this name;
//   a directory       names may have come or gone; the reconciler finds both by comparing the sides;
//   a whole subtree   if the directory and its parent have changed: it may have been moved here, which
//                     changes no ctime inside it.
// A directory is watched before it is read, so that nothing falls in between.
//
// Threading: for one thread. A crash loses nothing, as said above.
#pragma once

#include <sys/inotify.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tree.h"
#include "wq/queue.h"
#include "wq/status.h"

namespace mirror {

struct ScanCounts {
  uint64_t number = 0;  // Of the scan, from 1.
  uint64_t seen = 0;
  uint64_t added = 0;
  bool from_cursor = false;
};

class Source {
 public:
  // The root is borrowed. `identity` says what the cursor is valid for. Changes up to `slack` before
  // the cursor are added again: for a clock that is set back a little, and for a writer whose call
  // had taken its time but not yet made its event when the cursor was taken.
  Source(int root, std::string identity, std::chrono::nanoseconds slack, wq::Queue* queue)
      : root_(root), identity_(std::move(identity)), slack_(slack.count()), queue_(queue) {}

  // Starts a scan: from the cursor if there is a valid one and `use_cursor`, otherwise of all.
  wq::Status Start(bool use_cursor);
  // Scans one directory, if one waits, and takes the events that are there. Never blocks for more.
  // Not Ok: it cannot go on.
  wq::Status Step();
  // Poll it for reading; it may change with each Step.
  int fd() const { return inotify_.get(); }
  // Whether everything that had changed before the last Step has been added.
  bool is_current() const { return is_current_; }
  // Of the last scan that Start, or an overflow of the kernel's event queue, began.
  const ScanCounts& counts() const { return counts_; }

 private:
  struct Scan {
    std::string path;
    bool all = false;             // Add everything below, whatever its ctime.
    bool parent_changed = false;  // So it may have been moved here.
    wq::Lane lane = wq::kSlowLane;
  };

  wq::Status Rescan();
  wq::Status ScanDirectory(const Scan& scan);
  wq::Status Watch(int directory, const std::string& path);
  void Unwatch(const std::string& path);
  wq::Status ReadEvents(bool* drained);
  wq::Status Take(const inotify_event& event, const char* name);
  wq::Status Add(const std::string& path, wq::Lane lane);
  wq::Status SetCursor(int64_t time_ns);
  bool IsChanged(const struct stat& st) const;

  const int root_;
  const std::string identity_;
  const int64_t slack_;
  wq::Queue* const queue_;

  Fd inotify_;
  // The two are inverse to each other. Events of a watch that is not here are ignored: its directory was
  // moved or removed, and is scanned anew under its new name if it has one.
  std::unordered_map<int, std::string> paths_;
  std::map<std::string, int> watches_;
  std::deque<Scan> to_scan_;
  bool is_current_ = false;
  int64_t cursor_ns_ = 0;  // T; 0: none.
  int64_t since_ns_ = 0;   // What scans that are not of all go by.
  ScanCounts counts_;
};

}  // namespace mirror

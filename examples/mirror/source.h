// Source: adds the paths of the source that may have changed, from inotify and from scans.
//
// One rule makes restarts cheap: everything that changed before the cursor T has been added. Each
// Step reads the clock first and then the events until none is left; when no directory is left to
// scan, that time is the new T. The queue keeps a cursor in order with the Adds before it, so a
// crash cannot keep the cursor and lose the Adds; Adds that it loses are after T.
//
// A scan from T walks all directories (inotify has to watch each), and adds what has ctime >= T:
//   a file or link    its contents, mode or target may be new, or it was moved or linked to this
//                     name;
//   a directory       names may have been added or removed; the reconciler compares the sides;
//   a whole subtree   if the directory and its parent have changed: it may have been moved here,
//                     which changes no ctime inside it.
// A directory is watched before it is read, so that no change is missed in between.
//
// Threading: for one thread. A crash loses no change, by the rule above.
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
  // The root is borrowed. `identity` is what the cursor is valid for. Changes up to `slack` before
  // the cursor are added again, because a clock may be set back a little, and because a call may
  // have set a ctime but not yet made its event when the cursor was taken.
  Source(int root, std::string identity, std::chrono::nanoseconds slack, wq::Queue* queue)
      : root_(root), identity_(std::move(identity)), slack_(slack.count()), queue_(queue) {}

  // Starts a scan: from the cursor if it is valid and `use_cursor`, otherwise of everything.
  wq::Status Start(bool use_cursor);
  // Scans one directory, if one is left, and reads the present events. Never waits for events. Not
  // Ok: it cannot continue.
  wq::Status Step();
  // The descriptor to poll for reading; it may change with each Step.
  int fd() const { return inotify_.get(); }
  // Reports whether everything that had changed before the last Step has been added.
  bool is_current() const { return is_current_; }
  // The counts of the last scan that Start, or an overflow of the kernel's event queue, began.
  const ScanCounts& counts() const { return counts_; }

 private:
  struct Scan {
    std::string path;
    bool all = false;             // Add everything below, whatever its ctime.
    bool parent_changed = false;  // It may have been moved here.
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
  // The maps are inverse to each other. Events of an unknown watch are ignored: its directory was
  // moved or removed, and is scanned again under its new name if it has one.
  std::unordered_map<int, std::string> paths_;
  std::map<std::string, int> watches_;
  std::deque<Scan> to_scan_;
  bool is_current_ = false;
  int64_t cursor_ns_ = 0;  // T; 0: none.
  int64_t since_ns_ = 0;   // The earliest ctime that a scan adds.
  ScanCounts counts_;
};

}  // namespace mirror

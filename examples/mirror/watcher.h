// Watcher: tells a wq::Source what the paths of the source are, from inotify and from lists.
//
// Each path is an object and its own key. A list walks all directories (inotify has to watch each)
// and observes every path with its version: unchanged ones move nothing, and the list's end adds
// those that are gone. A directory is watched before it is read, so no change is missed in between.
// A live event adds its path whatever its version: a write(2) sets the ctime before it has written.
//
// Why no change is missed. This holds of each path, at a crash too: *if it has the version of its
// row, the target has its contents, or its key is pending*. For a row is written in one step with
// the Add of its key, or by the reconciler that holds the key, before it changes the target
// (reconciler.h); and the version is always read before. A change between that and the copy has
// another version (see Version), which the next list finds, and, while the mirror is up, an event
// of the name by which it was made.
// In the same way the target has no path without a row or a pending key.
//
// Threading: for one thread. A crash: begin anew.
#pragma once

#include <sys/inotify.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "tree.h"
#include "wq/queue.h"
#include "wq/source.h"
#include "wq/status.h"

namespace mirror {

class Watcher {
 public:
  // The root is borrowed. `identity` is what the rows of `objects` are valid for.
  Watcher(int root, std::string identity, wq::Queue* queue, const wq::Source& objects)
      : root_(root), identity_(std::move(identity)), queue_(queue), objects_(objects) {}

  // Begins a list, as an overflow of the kernel's event queue does; its end prints what it found.
  wq::Status Start();
  // Scans one directory, if one is left, and reads the present events. Never waits for events. Not
  // Ok: it cannot continue.
  wq::Status Step();
  // The descriptor to poll for reading; it may change with each Step.
  int fd() const { return inotify_.get(); }
  // Reports whether directories are left to scan.
  bool is_scanning() const { return !to_scan_.empty(); }
  // Reports whether everything that had changed before the last Step has been observed.
  bool is_current() const { return is_current_; }

 private:
  wq::Status ScanDirectory(const std::string& path);
  wq::Status EndList();
  wq::Status ObserveTouched();
  wq::Status Observe(const std::string& path, const struct stat& st, wq::Lane lane, bool* changed);
  wq::Status Watch(int directory, const std::string& path);
  void Unwatch(const std::string& path);
  wq::Status ReadEvents(bool* drained);
  wq::Status Take(const inotify_event& event, const char* name);

  const int root_;
  const std::string identity_;
  wq::Queue* const queue_;
  wq::Source objects_;
  std::unique_ptr<wq::SourceList> list_;  // nullptr: it has ended.
  uint64_t seen_ = 0;                     // By the list,
  uint64_t changed_ = 0;                  // and of these.

  Fd inotify_;
  // The maps are inverse to each other. Events of an unknown watch are ignored: its directory was
  // moved or removed, and is scanned again under its new name if it has one.
  std::unordered_map<int, std::string> paths_;
  std::map<std::string, int> watches_;
  std::deque<std::string> to_scan_;
  // Paths with live events. They are observed in the next tick of the file system's clock, when
  // their ctime is past.
  std::set<std::string> touched_;
  int64_t tick_ = 0;  // FileTime when the last Step began.
  bool is_current_ = false;
};

}  // namespace mirror

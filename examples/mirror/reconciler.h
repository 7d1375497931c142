// Reconciler: makes one path of the target equal to the same path of the source.
//
// It compares the present state of both sides; the event that added the path does not matter. A
// reconcile adds other paths that it finds to differ: a directory adds the names that only one side
// has, and a path whose directory the target lacks adds that directory.
//
// The path's row in the wq::Source gets what a reconcile sees, before the target is changed: so no
// row says that the target has another state than it has (watcher.h).
//
// The target's tree never holds half a file: a file is written in the staging directory and then
// renamed. A directory that must be removed is first renamed into the staging directory, in one
// step, and removed there. So the next reconcile of that directory finds missing, and adds,
// whatever the removal deletes.
//
// Threading: thread-safe as long as no path is reconciled twice at once, which the queue
// guarantees. A kill at any instant leaves garbage in the staging directory only; Open removes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>

#include "tree.h"
#include "wq/queue.h"
#include "wq/source.h"
#include "wq/status.h"

namespace mirror {

class Reconciler {
 public:
  // The roots are borrowed and must outlive it.
  Reconciler(int source, int target, wq::Queue* queue, const wq::Source& objects)
      : source_(source), target_(target), queue_(queue), objects_(objects) {}

  // Creates and clears the staging directory. AlreadyExists: another process mirrors into this
  // target.
  wq::Status Open();
  // Removes the staging directory.
  void Close() const;

  // Makes the path equal. ShuttingDown: `stop` was requested during a copy.
  wq::Status Reconcile(const std::string& path, const std::stop_token& stop);

 private:
  // A path as the directories that hold it on both sides and its name in them.
  struct Place {
    int from = -1;
    int to = -1;
    const std::string& name;
    const std::string& path;
  };

  wq::Status ReconcileOnce(const std::string& path, const std::stop_token& stop);
  wq::Status Remove(const Place& place);
  wq::Status Directory(const Place& place);
  wq::Status AddDifferences(int from, int to, const std::string& path);
  wq::Status Link(const Place& place);
  wq::Status File(const Place& place, const std::stop_token& stop);
  wq::Status Write(int in, const struct stat& wanted, const std::string& staged, const Place& place,
                   const std::stop_token& stop);
  wq::Status Install(const std::string& staged, const Place& place);
  wq::Status Discard(const std::string& staged);
  std::string NewName();

  const int source_;
  const int target_;
  wq::Queue* const queue_;
  wq::Source objects_;
  Fd staging_;
  std::string run_;
  std::atomic<uint64_t> names_ = 0;
};

}  // namespace mirror

#include "source.h"

#include <fcntl.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace mirror {
namespace {

constexpr char kCursorName[] = "source";
// IN_MODIFY rather than IN_CLOSE_WRITE: closing a file changes no ctime, so a cursor that is set
// between a write and its close would skip the write.
constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                             IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// Reads the clock from which the kernel takes the ctime of a change to a local file system; a
// change after this call gets no earlier ctime. (Finer clocks run ahead of it.)
int64_t FileTime() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return Nanoseconds(now);
}

}  // namespace

wq::Status Source::Start(bool use_cursor) {
  std::string value;
  cursor_ns_ = 0;
  const std::string prefix = identity_ + " ";
  if (use_cursor && queue_->GetCursor(kCursorName, &value).ok() && value.starts_with(prefix)) {
    std::from_chars(value.data() + prefix.size(), value.data() + value.size(), cursor_ns_);
    cursor_ns_ = cursor_ns_ > FileTime() ? 0 : cursor_ns_;  // The clock was set back.
  }
  return Rescan();
}

wq::Status Source::Rescan() {
  paths_.clear();
  watches_.clear();
  to_scan_.clear();
  inotify_ = Fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.ok()) {
    return wq::Status::IOError(std::string("inotify: ") + std::strerror(errno));
  }
  counts_ = {.number = counts_.number + 1, .from_cursor = cursor_ns_ > 0};
  since_ns_ = cursor_ns_ - slack_;
  to_scan_.push_back({.path = ".", .all = cursor_ns_ == 0});
  return wq::Status::Ok();
}

wq::Status Source::Step() {
  const int64_t now = FileTime();
  wq::Status s;
  if (!to_scan_.empty()) {
    const Scan scan = std::move(to_scan_.front());
    to_scan_.pop_front();
    s = ScanDirectory(scan);
  }
  bool drained = false;
  if (s.ok()) {
    s = ReadEvents(&drained);
  }
  is_current_ = s.ok() && drained && to_scan_.empty();
  return is_current_ && now != cursor_ns_ ? SetCursor(now) : s;
}

wq::Status Source::SetCursor(int64_t time_ns) {
  cursor_ns_ = time_ns;
  return queue_->SetCursor(kCursorName, identity_ + " " + std::to_string(time_ns));
}

bool Source::IsChanged(const struct stat& st) const { return Nanoseconds(st.st_ctim) >= since_ns_; }

wq::Status Source::ScanDirectory(const Scan& scan) {
  const Fd directory = OpenDirectory(root_, scan.path);
  if (!directory.ok()) {
    // If it was removed, an event reports that. If it is unreadable, the reconciler reports it.
    return HasVanished(errno) ? wq::Status::Ok() : Add(scan.path, scan.lane);
  }
  wq::Status s = Watch(directory.get(), scan.path);
  struct stat self = {};
  Entries entries;
  if (s.ok() && (fstat(directory.get(), &self) != 0 || !List(directory.get(), &entries))) {
    s = ErrnoStatus("scan", scan.path);
  }
  const bool is_changed = s.ok() && IsChanged(self);
  const bool all = scan.all || (is_changed && scan.parent_changed);
  uint64_t seen = 1;
  uint64_t added = 0;
  if (s.ok() && (all || is_changed)) {
    s = Add(scan.path, scan.lane);
    ++added;
  }
  for (auto it = entries.begin(); s.ok() && it != entries.end(); ++it) {
    const std::string path = Join(scan.path, it->first);
    if (!IsMirrored(path)) {
      continue;
    }
    if (S_ISDIR(it->second.st_mode)) {
      to_scan_.push_back({path, all, is_changed, scan.lane});
      continue;
    }
    ++seen;
    if (all || IsChanged(it->second)) {
      s = Add(path, scan.lane);
      ++added;
    }
  }
  if (scan.lane == wq::kSlowLane) {
    counts_.seen += seen;
    counts_.added += added;
  }
  return s;
}

wq::Status Source::Watch(int directory, const std::string& path) {
  // By the open directory: the path may name another directory now, or a link.
  const std::string open = "/proc/self/fd/" + std::to_string(directory);
  const int watch = inotify_add_watch(inotify_.get(), open.c_str(), kEvents);
  if (watch < 0) {
    return wq::Status::IOError("cannot watch " + path + ": " + std::strerror(errno) +
                               (errno == ENOSPC ? "; raise fs.inotify.max_user_watches" : ""));
  }
  const auto known = paths_.find(watch);
  if (known != paths_.end() && known->second == path) {
    return wq::Status::Ok();
  }
  if (known != paths_.end()) {
    watches_.erase(known->second);  // It was moved here; its event has not been read yet.
  }
  const auto stale = watches_.find(path);
  if (stale != watches_.end()) {
    inotify_rm_watch(inotify_.get(), stale->second);
    paths_.erase(stale->second);
  }
  paths_[watch] = path;
  watches_[path] = watch;
  return wq::Status::Ok();
}

// Forgets a directory that is no longer at `path`, with all that is below.
void Source::Unwatch(const std::string& path) {
  const auto drop = [&](auto it) {
    inotify_rm_watch(inotify_.get(), it->second);  // Fails if it was removed with its directory.
    paths_.erase(it->second);
    return watches_.erase(it);
  };
  const auto self = watches_.find(path);
  if (self != watches_.end()) {
    drop(self);
  }
  const std::string below = path + "/";
  for (auto it = watches_.lower_bound(below);
       it != watches_.end() && it->first.starts_with(below);) {
    it = drop(it);
  }
}

wq::Status Source::ReadEvents(bool* drained) {
  alignas(inotify_event) std::array<char, size_t{64} << 10> buffer;
  for (int reads = 0; reads < 64; ++reads) {  // Bounded: scans and reports go on under many events.
    const ssize_t n = read(inotify_.get(), buffer.data(), buffer.size());
    if (n < 0) {
      *drained = errno == EAGAIN;
      return *drained || errno == EINTR
                 ? wq::Status::Ok()
                 : wq::Status::IOError(std::string("inotify: ") + std::strerror(errno));
    }
    const char* const end = buffer.data() + n;
    for (const char* at = buffer.data(); at < end;) {
      inotify_event event;
      std::memcpy(&event, at, sizeof event);
      const char* const name = at + sizeof event;
      at = name + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        return Rescan();
      }
      wq::Status s = Take(event, name);
      if (!s.ok()) {
        return s;
      }
    }
  }
  return wq::Status::Ok();
}

wq::Status Source::Take(const inotify_event& event, const char* name) {
  const auto directory = paths_.find(event.wd);
  if (directory == paths_.end()) {
    return wq::Status::Ok();
  }
  if ((event.mask & IN_IGNORED) != 0) {  // Removed, and its watch with it.
    const std::string path = directory->second;
    watches_.erase(path);
    paths_.erase(directory);
    return path == "." ? wq::Status::NotFound("the source was removed") : wq::Status::Ok();
  }
  // An event without a name is about the directory itself.
  const std::string path = event.len > 0 ? Join(directory->second, name) : directory->second;
  if (!IsMirrored(path)) {
    return wq::Status::Ok();
  }
  if ((event.mask & IN_ISDIR) != 0) {
    if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
      Unwatch(path);
    } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 || !watches_.contains(path)) {
      to_scan_.push_back({.path = path, .all = true, .lane = wq::kFastLane});
    }
  }
  return Add(path, wq::kFastLane);
}

wq::Status Source::Add(const std::string& path, wq::Lane lane) {
  return queue_->Add(path, {.lane = lane});
}

}  // namespace mirror

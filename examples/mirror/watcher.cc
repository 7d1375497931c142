#include "watcher.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace mirror {
namespace {

// IN_MODIFY rather than IN_CLOSE_WRITE: a file may stay open for long.
constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                             IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK;

}  // namespace

wq::Status Watcher::Start() {
  paths_.clear();
  watches_.clear();
  to_scan_.clear();
  inotify_ = Fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.ok()) {
    return wq::Status::IOError(std::string("inotify: ") + std::strerror(errno));
  }
  seen_ = changed_ = 0;
  to_scan_.emplace_back(".");
  return objects_.BeginList({.fingerprint = identity_}, &list_);
}

wq::Status Watcher::Step() {
  wq::Status s;
  if (const int64_t now = FileTime(); now != tick_) {
    tick_ = now;
    s = ObserveTouched();
  }
  if (s.ok() && is_scanning()) {
    const std::string path = std::move(to_scan_.front());
    to_scan_.pop_front();
    s = ScanDirectory(path);
  }
  if (s.ok() && list_ != nullptr && !is_scanning()) {
    s = EndList();
  }
  bool drained = false;
  if (s.ok()) {
    s = ReadEvents(&drained);
  }
  is_current_ = s.ok() && drained && !is_scanning() && touched_.empty();
  return s;
}

wq::Status Watcher::ScanDirectory(const std::string& path) {
  const wq::Lane lane = list_ != nullptr ? wq::kSlowLane : wq::kFastLane;
  const Fd directory = OpenDirectory(root_, path);
  if (!directory.ok()) {
    // If it was removed, an event reports that. If it is unreadable, the reconciler reports it.
    return HasVanished(errno) ? wq::Status::Ok() : queue_->Add(path, {.lane = lane});
  }
  wq::Status s = Watch(directory.get(), path);
  struct stat self = {};
  Entries entries;
  if (s.ok() && (fstat(directory.get(), &self) != 0 || !List(directory.get(), &entries))) {
    s = ErrnoStatus("scan", path);
  }
  const auto observe = [&](const std::string& object, const struct stat& st) {
    bool changed = false;
    wq::Status done = Observe(object, st, lane, &changed);
    ++seen_;
    changed_ += changed ? 1 : 0;
    return done;
  };
  if (s.ok()) {
    s = observe(path, self);
  }
  for (auto it = entries.begin(); s.ok() && it != entries.end(); ++it) {
    const std::string entry = Join(path, it->first);
    if (IsMirrored(entry) && S_ISDIR(it->second.st_mode)) {
      to_scan_.push_back(entry);
    } else if (IsMirrored(entry)) {
      s = observe(entry, it->second);
    }
  }
  return s;
}

wq::Status Watcher::EndList() {
  uint64_t deleted = 0;
  for (wq::SeenObject gone; list_->NextDeleted(&gone).ok();) {
    ++deleted;
  }
  wq::Status s = list_->End({.lane = wq::kSlowLane});  // Adds what was not observed: it is gone.
  list_ = nullptr;
  std::printf("scan seen=%lu changed=%lu deleted=%lu\n", seen_, changed_, deleted);
  std::fflush(stdout);
  return s;
}

wq::Status Watcher::ObserveTouched() {
  wq::Status s;
  for (const std::string& path : std::exchange(touched_, {})) {
    const auto [parent, name] = Split(path);
    const Fd directory = OpenDirectory(root_, parent);
    struct stat st = {};
    bool changed = false;
    if (directory.ok() && fstatat(directory.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      s = Observe(path, st, wq::kFastLane, &changed);
    } else if (HasVanished(errno)) {
      s = objects_.ObserveDeleted(ObjectOf(path), {}, {.lane = wq::kFastLane});
    }
    if (s.ok() && !changed) {
      s = queue_->Add(path, {.lane = wq::kFastLane});
    }
    if (!s.ok()) {
      return s;
    }
  }
  return s;
}

wq::Status Watcher::Observe(const std::string& path, const struct stat& st, wq::Lane lane,
                            bool* changed) {
  const std::string version = Version(st, tick_);
  if (version.empty()) {
    touched_.insert(path);  // It gets a version in the next tick.
  }
  const std::string_view key = path;
  wq::ObserveResult result;
  wq::Status s = objects_.Observe({.object = ObjectOf(path), .version = version, .keys = {&key, 1}},
                                  {.lane = lane}, &result);
  *changed = result.changed;
  return s;
}

wq::Status Watcher::Watch(int directory, const std::string& path) {
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
void Watcher::Unwatch(const std::string& path) {
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

wq::Status Watcher::ReadEvents(bool* drained) {
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
        return Start();
      }
      wq::Status s = Take(event, name);
      if (!s.ok()) {
        return s;
      }
    }
  }
  return wq::Status::Ok();
}

wq::Status Watcher::Take(const inotify_event& event, const char* name) {
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
      to_scan_.push_back(path);
    }
  }
  touched_.insert(path);
  return wq::Status::Ok();
}

}  // namespace mirror

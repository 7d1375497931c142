#include "reconciler.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace mirror {
namespace {

constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr int kReadDirectory = kRead | O_DIRECTORY;
constexpr mode_t kModeBits = 07777;
constexpr size_t kChunk = 128 << 10;

// Reads until `buffer` is full or the file ends. -1: errno has the error.
ssize_t ReadFully(int fd, std::vector<char>* buffer) {
  size_t size = 0;
  while (size < buffer->size()) {
    const ssize_t n = read(fd, buffer->data() + size, buffer->size() - size);
    if (n == 0) {
      break;
    }
    if (n < 0 && errno != EINTR) {
      return -1;
    }
    size += n > 0 ? static_cast<size_t>(n) : 0;
  }
  return static_cast<ssize_t>(size);
}

bool WriteFully(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    data += n > 0 ? n : 0;
    size -= n > 0 ? static_cast<size_t>(n) : 0;
  }
  return true;
}

// Compares from the files' present offsets to their ends. False early if `stop` is requested.
bool HasSameContents(int one, int other, const std::stop_token& stop) {
  std::vector<char> ones(kChunk);
  std::vector<char> others(kChunk);
  while (!stop.stop_requested()) {
    const ssize_t n = ReadFully(one, &ones);
    if (n < 0 || ReadFully(other, &others) != n ||
        !std::equal(ones.begin(), ones.begin() + n, others.begin())) {
      return false;
    }
    if (n == 0) {
      return true;
    }
  }
  return false;
}

// Copies `in` from its beginning to its end. False: errno has the error, or `stop` was requested.
bool CopyContents(int in, int out, const std::stop_token& stop) {
  std::vector<char> buffer(kChunk);
  bool fine = lseek(in, 0, SEEK_SET) == 0;
  for (ssize_t n = -1; fine && n != 0;) {
    n = ReadFully(in, &buffer);
    fine =
        n >= 0 && WriteFully(out, buffer.data(), static_cast<size_t>(n)) && !stop.stop_requested();
  }
  return fine;
}

// Returns the link's target. nullopt: errno has the error.
std::optional<std::string> ReadLink(int directory, const std::string& name) {
  std::string text(PATH_MAX, '\0');
  const ssize_t n = readlinkat(directory, name.c_str(), text.data(), text.size());
  if (n < 0) {
    return std::nullopt;
  }
  text.resize(static_cast<size_t>(n));
  return text;
}

// Checks whether the target has this file already. (By contents, not times: two writes within one
// tick of the file system's clock have the same time.)
bool IsSame(int in, const struct stat& wanted, int to, const std::string& name,
            const std::stop_token& stop) {
  const Fd there(openat(to, name.c_str(), kRead));
  struct stat st = {};
  return there.ok() && fstat(there.get(), &st) == 0 && st.st_mode == wanted.st_mode &&
         st.st_size == wanted.st_size && HasSameContents(in, there.get(), stop);
}

}  // namespace

wq::Status Reconciler::Open() {
  const std::string name(kStaging);
  if (mkdirat(target_, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus("make", name);
  }
  std::random_device random;
  run_ = std::to_string(random()) + "-" + std::to_string(random());
  staging_ = Fd(openat(target_, name.c_str(), kReadDirectory));
  if (!staging_.ok()) {
    return ErrnoStatus("open", name);
  }
  if (flock(staging_.get(), LOCK_EX | LOCK_NB) != 0) {
    return wq::Status::AlreadyExists("another process mirrors into this directory");
  }
  Entries leftovers;
  wq::Status s = List(staging_.get(), &leftovers) ? wq::Status::Ok() : ErrnoStatus("list", name);
  for (auto it = leftovers.begin(); s.ok() && it != leftovers.end(); ++it) {
    s = Discard(it->first);
  }
  return s;
}

// Unique among processes too: Open removes what an earlier process left.
std::string Reconciler::NewName() { return run_ + "-" + std::to_string(++names_); }

void Reconciler::Close() const { unlinkat(target_, std::string(kStaging).c_str(), AT_REMOVEDIR); }

wq::Status Reconciler::Reconcile(const std::string& path, const std::stop_token& stop) {
  if (!IsMirrored(path)) {
    return wq::Status::Ok();  // Another program has added it; the source does not.
  }
  wq::Status s = ReconcileOnce(path, stop);
  if (s.code() == wq::StatusCode::kNotFound) {
    return queue_->Add(path);  // Removed during the reconcile: no error; it is repeated.
  }
  return s;
}

wq::Status Reconciler::ReconcileOnce(const std::string& path, const std::stop_token& stop) {
  if (path == ".") {
    return AddDifferences(source_, target_, path);
  }
  const auto [parent, name] = Split(path);
  struct stat wanted = {};
  const int64_t before = FileTime();
  const Fd from = OpenDirectory(source_, parent);
  const bool is_there =
      from.ok() && fstatat(from.get(), name.c_str(), &wanted, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there && !HasVanished(errno)) {
    return ErrnoStatus("inspect", path);
  }
  const std::string_view key = path;
  const wq::AddOptions at_once = {.durability = wq::Durability::kProcess};  // Before the target.
  wq::Status s = is_there ? objects_.Observe({.object = ObjectOf(path),
                                              .version = Version(wanted, before),
                                              .keys = {&key, 1},
                                              .filtered = true},
                                             at_once)
                          : objects_.ObserveDeleted(ObjectOf(path), {}, at_once);
  if (!s.ok()) {
    return s;
  }
  const bool is_wanted = is_there && IsKind(wanted.st_mode);
  const Fd to = OpenDirectory(target_, parent);
  if (!to.ok()) {
    if (!HasVanished(errno)) {
      return ErrnoStatus("open the target's", parent);
    }
    return is_wanted ? queue_->Add(parent) : wq::Status::Ok();  // Its reconcile adds `path` again.
  }
  const Place place{.from = from.get(), .to = to.get(), .name = name, .path = path};
  s = !is_wanted                ? Remove(place)
      : S_ISDIR(wanted.st_mode) ? Directory(place)
      : S_ISLNK(wanted.st_mode) ? Link(place)
                                : File(place, stop);
  // If another directory has replaced the one that was read, it may hold a name that the old one
  // never had. No event reports that name, so the path is reconciled again.
  if (s.ok() && from.ok() && !IsSameDirectory(from, OpenDirectory(source_, parent))) {
    return wq::Status::NotFound("the directory was replaced");
  }
  return s;
}

wq::Status Reconciler::Remove(const Place& place) {
  if (unlinkat(place.to, place.name.c_str(), 0) == 0 || errno == ENOENT) {
    return wq::Status::Ok();
  }
  if (errno != EISDIR && errno != EPERM) {
    return ErrnoStatus("remove", place.path);
  }
  const std::string staged = NewName();
  if (renameat(place.to, place.name.c_str(), staging_.get(), staged.c_str()) != 0) {
    return ErrnoStatus("remove", place.path);
  }
  return Discard(staged);
}

// Removes a file or tree of the staging directory. Directories in it are moved up first, so that
// the depth does not matter. A worker that still has a directory open may write into it; then the
// removal is repeated.
wq::Status Reconciler::Discard(const std::string& staged) {
  const int staging = staging_.get();
  for (std::vector<std::string> names = {staged}; !names.empty();) {
    const std::string name = names.back();
    if (unlinkat(staging, name.c_str(), 0) == 0 ||
        unlinkat(staging, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
      names.pop_back();
      continue;
    }
    const Fd directory(openat(staging, name.c_str(), kReadDirectory));
    Entries inside;
    bool fine =
        directory.ok() && fchmod(directory.get(), 0700) == 0 && List(directory.get(), &inside);
    for (auto it = inside.begin(); fine && it != inside.end(); ++it) {
      const std::string to = NewName();
      const char* child = it->first.c_str();
      if (!S_ISDIR(it->second.st_mode)) {
        fine = unlinkat(directory.get(), child, 0) == 0 || errno == ENOENT;
      } else if (renameat(directory.get(), child, staging, to.c_str()) == 0) {
        names.push_back(to);
      } else {
        fine = errno == ENOENT;
      }
    }
    if (!fine) {
      return IoError("discard", name);
    }
  }
  return wq::Status::Ok();
}

wq::Status Reconciler::Directory(const Place& place) {
  const Fd from(openat(place.from, place.name.c_str(), kReadDirectory));
  struct stat wanted = {};
  if (!from.ok() || fstat(from.get(), &wanted) != 0) {
    return ErrnoStatus("open", place.path);
  }
  struct stat there = {};
  if (fstatat(place.to, place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISDIR(there.st_mode) && unlinkat(place.to, place.name.c_str(), 0) != 0) {
    return ErrnoStatus("replace", place.path);
  }
  if (mkdirat(place.to, place.name.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus("make", place.path);
  }
  const Fd to(openat(place.to, place.name.c_str(), kReadDirectory));
  if (!to.ok() || fchmod(to.get(), wanted.st_mode & kModeBits) != 0) {
    return ErrnoStatus("change the mode of", place.path);
  }
  return AddDifferences(from.get(), to.get(), place.path);
}

wq::Status Reconciler::AddDifferences(int from, int to, const std::string& path) {
  Entries ours;
  Entries theirs;
  if (!List(from, &ours) || !List(to, &theirs)) {
    return ErrnoStatus("list", path);
  }
  std::erase_if(ours, [](const auto& entry) { return !IsKind(entry.second.st_mode); });
  std::vector<std::string> paths;
  const auto add_missing = [&](const Entries& of, const Entries& in) {
    for (const auto& [name, st] : of) {
      if (!in.contains(name) && IsMirrored(Join(path, name))) {
        paths.push_back(Join(path, name));
      }
    }
  };
  add_missing(ours, theirs);
  add_missing(theirs, ours);
  const std::vector<std::string_view> keys(paths.begin(), paths.end());
  wq::BatchResult result;
  const wq::Status s = queue_->AddBatch(keys, {.lane = wq::kSlowLane}, &result);
  return result.refused.empty() ? s : result.refused.front().second;
}

wq::Status Reconciler::Link(const Place& place) {
  const std::optional<std::string> wanted = ReadLink(place.from, place.name);
  if (!wanted.has_value()) {
    return errno == EINVAL ? wq::Status::NotFound("no link any more")
                           : ErrnoStatus("read the link", place.path);
  }
  if (ReadLink(place.to, place.name) == wanted) {
    return wq::Status::Ok();
  }
  const std::string staged = NewName();
  if (symlinkat(wanted->c_str(), staging_.get(), staged.c_str()) != 0) {
    return IoError("write", place.path);
  }
  return Install(staged, place);
}

wq::Status Reconciler::File(const Place& place, const std::stop_token& stop) {
  const Fd in(openat(place.from, place.name.c_str(), kRead));
  struct stat wanted = {};
  if (!in.ok() || fstat(in.get(), &wanted) != 0) {
    return ErrnoStatus("open", place.path);
  }
  if (!S_ISREG(wanted.st_mode)) {
    return wq::Status::NotFound("no file any more");
  }
  if (IsSame(in.get(), wanted, place.to, place.name, stop)) {
    return wq::Status::Ok();
  }
  const std::string staged = NewName();
  wq::Status s = Write(in.get(), wanted, staged, place, stop);
  if (s.ok()) {
    return Install(staged, place);
  }
  unlinkat(staging_.get(), staged.c_str(), 0);
  return s;
}

wq::Status Reconciler::Write(int in, const struct stat& wanted, const std::string& staged,
                             const Place& place, const std::stop_token& stop) {
  const Fd out(
      openat(staging_.get(), staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.ok() || !CopyContents(in, out.get(), stop) ||
      fchmod(out.get(), wanted.st_mode & kModeBits) != 0 || fsync(out.get()) != 0) {
    return stop.stop_requested() ? wq::Status::ShuttingDown("stopped during the copy")
                                 : IoError("copy", place.path);
  }
  return wq::Status::Ok();
}

wq::Status Reconciler::Install(const std::string& staged, const Place& place) {
  const int staging = staging_.get();
  wq::Status s;
  if (renameat(staging, staged.c_str(), place.to, place.name.c_str()) == 0) {
    return s;
  }
  if (errno == EISDIR) {  // The target has a directory here.
    s = Remove(place);
    if (s.ok() && renameat(staging, staged.c_str(), place.to, place.name.c_str()) == 0) {
      return s;
    }
  }
  s = s.ok() ? ErrnoStatus("rename to", place.path) : s;
  unlinkat(staging, staged.c_str(), 0);
  return s;
}

}  // namespace mirror

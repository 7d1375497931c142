#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/file_calls.h"

namespace wq {

uint64_t FileBytes(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

Status OpenToRead(const std::string& path, FileDescriptor* file, uint64_t* bytes) {
  *file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file->valid()) {
    return errno == ENOENT ? Status::NotFound(path + " does not exist")
                           : IOErrorOf("cannot open", path, errno);
  }
  if (bytes == nullptr) return Status::Ok();
  struct stat info = {};
  if (fstat(file->get(), &info) != 0) return IOErrorOf("cannot look at", path, errno);
  *bytes = static_cast<uint64_t>(info.st_size);
  return Status::Ok();
}

Status ReadSmallFile(const std::string& path, size_t max_bytes, std::string* contents) {
  FileDescriptor file(-1);
  Status status = OpenToRead(path, &file);
  if (!status.ok()) return status;
  contents->resize(max_bytes);
  size_t size = 0;
  status = ReadAt(file.get(), path, 0, max_bytes, contents->data(), &size);
  contents->resize(size);
  return status;
}

Status ReadAt(int fd, const std::string& path, uint64_t offset, size_t bytes, char* to,
              size_t* got) {
  *got = 0;
  while (*got < bytes) {
    const ssize_t n = pread(fd, to + *got, bytes - *got, static_cast<off_t>(offset + *got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return IOErrorOf("cannot read", path, errno);
    if (n == 0) break;
    *got += static_cast<size_t>(n);
  }
  return Status::Ok();
}

Status WriteAll(int fd, const std::string& path, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = CurrentFileCalls().Write(fd, path, contents);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return IOErrorOf("cannot write", path, errno);
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

Status CopyBytes(int from, const std::string& from_path, uint64_t bytes, int to,
                 const std::string& to_path, const std::function<Status()>& check) {
  std::string chunk;
  for (uint64_t done = 0; done < bytes; done += chunk.size()) {
    Status status = check ? check() : Status::Ok();
    if (!status.ok()) return status;
    chunk.resize(std::min<uint64_t>(size_t{1} << 20, bytes - done));
    size_t got = 0;
    status = ReadAt(from, from_path, done, chunk.size(), chunk.data(), &got);
    if (!status.ok()) return status;
    if (got < chunk.size()) return Status::IOError(from_path + " became shorter during the copy");
    status = WriteAll(to, to_path, chunk);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status WriteFileAtomically(const std::string& dir, const std::string& name,
                           std::string_view contents) {
  const std::string path = dir + "/" + name;
  const std::string temporary = path + ".tmp";
  {
    const FileDescriptor file(
        CurrentFileCalls().Open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW));
    if (!file.valid()) return IOErrorOf("cannot create", temporary, errno);
    Status status = WriteAll(file.get(), temporary, contents);
    if (!status.ok()) return status;
    if (CurrentFileCalls().Sync(file.get(), temporary) != 0) {
      return IOErrorOf("cannot sync", temporary, errno);
    }
  }
  if (CurrentFileCalls().Rename(temporary, path) != 0)
    return IOErrorOf("cannot create", path, errno);
  return SyncDirectory(dir);
}

Status SyncDirectory(const std::string& dir) {
  const FileDescriptor file(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.valid()) return IOErrorOf("cannot open", dir, errno);
  if (CurrentFileCalls().Sync(file.get(), dir) != 0) return IOErrorOf("cannot sync", dir, errno);
  return Status::Ok();
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool IsStillAt(int fd, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(fd, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

Status ListDirectory(const std::string& dir, std::vector<std::string>* names) {
  names->clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(dir.c_str()), closedir);
  if (stream == nullptr) return IOErrorOf("cannot open", dir, errno);
  errno = 0;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names->emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return IOErrorOf("cannot list", dir, errno);
  std::sort(names->begin(), names->end());
  return Status::Ok();
}

Status ListNumbered(const std::string& dir, std::string_view prefix, std::string_view suffix,
                    std::vector<NumberedFile>* files) {
  files->clear();
  std::vector<std::string> names;
  Status status = ListDirectory(dir, &names);
  for (std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    NumberedFile file;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, file.number);
    if (error != std::errc() || std::string_view(rest, end) != suffix) continue;
    file.name = std::move(name);
    files->push_back(std::move(file));
  }
  std::sort(files->begin(), files->end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return status;
}

}  // namespace wq

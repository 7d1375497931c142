#include "tests/support/watched_disk.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file_calls.h"
#include "storage/rocksdb/setup.h"

namespace wq::support {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using Kind = FileCall::Kind;

IOStatus Refusal(const FileCall& call, int error) {
  const std::string text = call.path + ": " + std::strerror(error);
  return error == ENOSPC ? IOStatus::NoSpace(text) : IOStatus::IOError(text);
}

// Makes the call, between Permit and Record.
template <typename Make>
IOStatus Watch(WatchedDisk* disk, const FileCall& call, const Make& make) {
  if (const int error = disk->Permit(call); error != 0) {
    return Refusal(call, error);
  }
  IOStatus status = make();
  if (status.ok()) {
    disk->Record(call);
  }
  return status;
}

class WatchedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, WatchedDisk* disk, std::string path,
              uint64_t size)
      : FSWritableFileOwnerWrapper(std::move(file)),
        disk_(disk),
        path_(std::move(path)),
        size_(size) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* context) override {
    const FileCall call{Kind::kAppend, path_, {}, data.ToStringView(), size_};
    if (const int error = disk_->Permit(call); error != 0) {
      if (error == ENOSPC) {  // A full disk writes a part.
        const rocksdb::Slice half(data.data(), data.size() / 2);
        if (target()->Append(half, options, context).ok()) {
          size_ += half.size();
        }
      }
      return Refusal(call, error);
    }
    IOStatus status = target()->Append(data, options, context);
    if (status.ok()) {
      size_ += data.size();
      disk_->Record(call);
    }
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*checksums*/,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* context) override {
    return Watch(disk_, {Kind::kTruncate, path_, {}, {}, size}, [&] {
      size_ = size;
      return target()->Truncate(size, options, context);
    });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    return Watch(disk_, {Kind::kSync, path_, {}, {}, size_},
                 [&] { return target()->Sync(options, context); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return Watch(disk_, {Kind::kSync, path_, {}, {}, size_},
                 [&] { return target()->Fsync(options, context); });
  }

 private:
  WatchedDisk* const disk_;
  const std::string path_;
  uint64_t size_;
};

class WatchedDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  WatchedDirectory(std::unique_ptr<rocksdb::FSDirectory>&& directory, WatchedDisk* disk,
                   std::string path)
      : FSDirectoryWrapper(std::move(directory)), disk_(disk), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    return Watch(disk_, {Kind::kSyncDirectory, path_},
                 [&] { return FSDirectoryWrapper::Fsync(options, context); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context,
                               const rocksdb::DirFsyncOptions& reason) override {
    return Watch(disk_, {Kind::kSyncDirectory, path_},
                 [&] { return FSDirectoryWrapper::FsyncWithDirOptions(options, context, reason); });
  }

 private:
  WatchedDisk* const disk_;
  const std::string path_;
};

class WatchedSequentialFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  WatchedSequentialFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, WatchedDisk* disk,
                        std::string path)
      : FSSequentialFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)) {}
  IOStatus Read(size_t n, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* context) override {
    return Watch(disk_, {Kind::kRead, path_}, [&] {
      return FSSequentialFileOwnerWrapper::Read(n, options, result, scratch, context);
    });
  }

 private:
  WatchedDisk* const disk_;
  const std::string path_;
};

class WatchedRandomFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WatchedRandomFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, WatchedDisk* disk,
                    std::string path)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)) {}
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, rocksdb::Slice* result,
                char* scratch, IODebugContext* context) const override {
    return Watch(disk_, {Kind::kRead, path_}, [&] {
      return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, context);
    });
  }

 private:
  WatchedDisk* const disk_;
  const std::string path_;
};

uint64_t SizeOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

class WatchedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit WatchedFileSystem(WatchedDisk* disk)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(disk) {}
  const char* Name() const override { return "WatchedFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* context) override {
    return Watch(disk_, {Kind::kCreate, path}, [&] {
      return Watched<WatchedFile>(target()->NewWritableFile(path, options, file, context), path,
                                  file, uint64_t{0});
    });
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* context) override {
    return Watch(disk_, {Kind::kOpen, path}, [&] {
      return Watched<WatchedFile>(target()->ReopenWritableFile(path, options, file, context), path,
                                  file, SizeOf(path));
    });
  }
  // Not used: no log is recycled, nothing is written in place.
  IOStatus ReuseWritableFile(const std::string& path, const std::string&, const FileOptions&,
                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return IOStatus::NotSupported(path);
  }
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions&,
                           std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) override {
    return IOStatus::NotSupported(path);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* context) override {
    return Watched<WatchedDirectory>(target()->NewDirectory(path, options, directory, context),
                                     path, directory);
  }
  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* context) override {
    return Watch(disk_, {Kind::kRead, path}, [&] {
      return Watched<WatchedSequentialFile>(
          target()->NewSequentialFile(path, options, file, context), path, file);
    });
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* context) override {
    return Watch(disk_, {Kind::kRead, path}, [&] {
      return Watched<WatchedRandomFile>(target()->NewRandomAccessFile(path, options, file, context),
                                        path, file);
    });
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* context) override {
    return Watch(disk_, {Kind::kDelete, path},
                 [&] { return target()->DeleteFile(path, options, context); });
  }
  IOStatus Truncate(const std::string& path, size_t size, const IOOptions& options,
                    IODebugContext* context) override {
    return Watch(disk_, {Kind::kTruncate, path, {}, {}, size},
                 [&] { return target()->Truncate(path, size, options, context); });
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* context) override {
    return Watch(disk_, {Kind::kRename, from, to},
                 [&] { return target()->RenameFile(from, to, options, context); });
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* context) override {
    return Watch(disk_, {Kind::kLink, from, to},
                 [&] { return target()->LinkFile(from, to, options, context); });
  }
  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* names, IODebugContext* context) override {
    return Watch(disk_, {Kind::kRead, path},
                 [&] { return target()->GetChildren(path, options, names, context); });
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* size,
                       IODebugContext* context) override {
    return Watch(disk_, {Kind::kRead, path},
                 [&] { return target()->GetFileSize(path, options, size, context); });
  }

 private:
  // Lets the file that was opened tell the disk of its calls.
  template <typename Wrapper, typename File, typename... More>
  IOStatus Watched(IOStatus opened, const std::string& path, std::unique_ptr<File>* file,
                   More... more) {
    if (opened.ok()) *file = std::make_unique<Wrapper>(std::move(*file), disk_, path, more...);
    return opened;
  }

  WatchedDisk* const disk_;
};

class WatchedCalls final : public FileCalls {
 public:
  explicit WatchedCalls(WatchedDisk* disk) : disk_(disk) {}

  int Open(const std::string& path, int flags) override {
    const Kind kind = (flags & O_TRUNC) != 0 ? Kind::kCreate : Kind::kOpen;
    return Watched({kind, path}, [&] { return FileCalls::Open(path, flags); });
  }
  ssize_t Write(int fd, const std::string& path, std::string_view bytes) override {
    const off_t at = lseek(fd, 0, SEEK_CUR);
    return Watched({Kind::kAppend, path, {}, bytes, static_cast<uint64_t>(at)},
                   [&] { return FileCalls::Write(fd, path, bytes); });
  }
  int Sync(int fd, const std::string& path) override {
    struct stat info = {};
    const bool directory = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
    return Watched({directory ? Kind::kSyncDirectory : Kind::kSync, path, {}, {}, SizeOf(path)},
                   [&] { return FileCalls::Sync(fd, path); });
  }
  int Rename(const std::string& from, const std::string& to) override {
    return Watched({Kind::kRename, from, to}, [&] { return FileCalls::Rename(from, to); });
  }
  int Remove(const std::string& path) override {
    return Watched({Kind::kDelete, path}, [&] { return FileCalls::Remove(path); });
  }
  int MakeDirectory(const std::string& path) override {
    return Watched({Kind::kMakeDirectory, path}, [&] { return FileCalls::MakeDirectory(path); });
  }
  int Allocate(int fd, const std::string& path, uint64_t bytes) override {
    return Watched({Kind::kAllocate, path, {}, {}, bytes},
                   [&] { return FileCalls::Allocate(fd, path, bytes); });
  }
  int FileSystemType(int fd, const std::string& path, uint64_t* type) override {
    return Watched({Kind::kRead, path}, [&] { return FileCalls::FileSystemType(fd, path, type); });
  }
  int Control(int fd, const std::string& path, unsigned long request, uintptr_t argument) override {
    return Watched({Kind::kRead, path},
                   [&] { return FileCalls::Control(fd, path, request, argument); });
  }
  void* Map(int fd, const std::string& path, uint64_t bytes) override {
    FileCall call{Kind::kMap, path, {}, {}, bytes};
    if (const int error = disk_->Permit(call); error != 0) {
      errno = error;
      return nullptr;
    }
    void* const mapping = FileCalls::Map(fd, path, bytes);
    if (mapping != nullptr) {
      call.bytes = {static_cast<const char*>(mapping), bytes};
      disk_->Record(call);
    }
    return mapping;
  }
  void Unmap(void* mapping, uint64_t bytes) override {
    disk_->Record({Kind::kUnmap, {}, {}, {static_cast<const char*>(mapping), bytes}, bytes});
    FileCalls::Unmap(mapping, bytes);
  }

 private:
  template <typename Make>
  auto Watched(const FileCall& call, const Make& make) -> decltype(make()) {
    if (const int error = disk_->Permit(call); error != 0) {
      errno = error;
      return -1;
    }
    const auto result = make();
    if (result >= 0) {
      disk_->Record(call);
    }
    return result;
  }

  WatchedDisk* const disk_;
};

}  // namespace

struct WatchedDisk::Impl {
  explicit Impl(WatchedDisk* disk)
      : calls(disk), env(rocksdb::NewCompositeEnv(std::make_shared<WatchedFileSystem>(disk))) {}
  WatchedCalls calls;
  std::unique_ptr<rocksdb::Env> env;
};

WatchedDisk::WatchedDisk() : impl_(std::make_unique<Impl>(this)) {
  UseFileCalls(&impl_->calls);
  storage::UseEnv(impl_->env.get());
}

WatchedDisk::~WatchedDisk() {
  UseFileCalls(nullptr);
  storage::UseEnv(nullptr);
}

}  // namespace wq::support

#include "storage/rocksdb/store_env.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace wq::storage {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class ShortenedFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  ShortenedFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, uint64_t bytes)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_(bytes) {}

  IOStatus Read(size_t n, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* context) override {
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(n, left_));
    IOStatus status = FSSequentialFileOwnerWrapper::Read(bytes, options, result, scratch, context);
    if (status.ok()) left_ -= result->size();
    return status;
  }
  IOStatus Skip(uint64_t n) override {
    const uint64_t bytes = std::min(n, left_);
    left_ -= bytes;
    return FSSequentialFileOwnerWrapper::Skip(bytes);
  }

 private:
  uint64_t left_;  // Bytes to the valid length.
};

class LogWithRoom final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  void SetPreallocationBlockSize(size_t bytes) override {
    constexpr size_t kRoom = size_t{1} << 20;
    FSWritableFileOwnerWrapper::SetPreallocationBlockSize(std::min(bytes, kRoom));
  }
};

class StoreFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  StoreFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base, ValidLengths lengths,
                  bool hides_logs)
      : FileSystemWrapper(base), lengths_(std::move(lengths)), hides_logs_(hides_logs) {}
  const char* Name() const override { return "StoreFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* context) override {
    IOStatus status = target()->NewWritableFile(path, options, file, context);
    if (status.ok() && path.ends_with(".log")) {
      *file = std::make_unique<LogWithRoom>(std::move(*file));
    }
    return status;
  }

  // How RocksDB reads a log.
  IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* context) override {
    IOStatus status = target()->NewSequentialFile(path, options, file, context);
    const auto found = lengths_.find(path.substr(path.rfind('/') + 1));
    if (status.ok() && found != lengths_.end()) {
      *file = std::make_unique<ShortenedFile>(std::move(*file), found->second);
    }
    return status;
  }

  // How RocksDB finds the logs.
  IOStatus GetChildren(const std::string& dir, const IOOptions& options,
                       std::vector<std::string>* names, IODebugContext* context) override {
    IOStatus status = target()->GetChildren(dir, options, names, context);
    if (hides_logs_) {
      std::erase_if(*names, [](const std::string& name) { return name.ends_with(".log"); });
    }
    return status;
  }

 private:
  const ValidLengths lengths_;
  const bool hides_logs_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> StoreEnv(rocksdb::Env* base, ValidLengths lengths, bool hides_logs) {
  return rocksdb::NewCompositeEnv(
      std::make_shared<StoreFileSystem>(base->GetFileSystem(), std::move(lengths), hides_logs));
}

}  // namespace wq::storage

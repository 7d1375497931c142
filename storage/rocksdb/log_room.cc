#include "storage/rocksdb/log_room.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <utility>

namespace wq::storage {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IOStatus;

class LogWithRoom final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogWithRoom(std::unique_ptr<FSWritableFile>&& file, size_t room)
      : FSWritableFileOwnerWrapper(std::move(file)), room_(room) {}

  void SetPreallocationBlockSize(size_t bytes) override {
    FSWritableFileOwnerWrapper::SetPreallocationBlockSize(std::min(bytes, room_));
  }

 private:
  const size_t room_;
};

class LogRoomFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  LogRoomFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base, size_t room)
      : FileSystemWrapper(base), room_(room) {}
  const char* Name() const override { return "LogRoomFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           rocksdb::IODebugContext* context) override {
    IOStatus status = target()->NewWritableFile(path, options, file, context);
    if (status.ok() && path.ends_with(".log")) {
      *file = std::make_unique<LogWithRoom>(std::move(*file), room_);
    }
    return status;
  }

 private:
  const size_t room_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> EnvWithLogRoom(rocksdb::Env* base) {
  constexpr size_t kRoom = size_t{1} << 20;
  return rocksdb::NewCompositeEnv(
      std::make_shared<LogRoomFileSystem>(base->GetFileSystem(), kRoom));
}

}  // namespace wq::storage

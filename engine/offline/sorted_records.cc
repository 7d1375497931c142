#include "engine/offline/sorted_records.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace wq {
namespace {

constexpr size_t kFileBufferBytes = size_t{256} << 10;

Status ScratchError(const std::string& dir, const char* what) {
  return Status::IOError(dir + ": cannot " + what +
                         " a scratch file: " + std::generic_category().message(errno));
}

}  // namespace

SortedRecords::SortedRecords(size_t memory_bytes, std::string scratch_dir)
    : memory_bytes_(memory_bytes), scratch_dir_(std::move(scratch_dir)) {}

Status SortedRecords::Add(std::string_view key, std::string_view value) {
  rows_.push_back(
      {bytes_.size(), static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
  bytes_.append(key).append(value);
  const size_t used = bytes_.size() + rows_.size() * sizeof(Row);
  return used < memory_bytes_ ? Status::Ok() : Spill();
}

// Sorts the records in memory and moves them to a file. The last part too: there is one way to
// read.
Status SortedRecords::Spill() {
  const std::string_view bytes = bytes_;
  std::sort(rows_.begin(), rows_.end(), [bytes](const Row& a, const Row& b) {
    return bytes.substr(a.at, a.key_bytes) < bytes.substr(b.at, b.key_bytes);
  });
  std::string path = scratch_dir_ + "/wq-sort-XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) return ScratchError(scratch_dir_, "make");
  unlink(path.c_str());
  auto run = std::make_unique<Run>();
  run->file.reset(fdopen(fd, "w+"));
  std::FILE* const file = run->file.get();
  if (file == nullptr) {
    close(fd);
    return ScratchError(scratch_dir_, "open");
  }
  std::setvbuf(file, nullptr, _IOFBF, kFileBufferBytes);
  for (const Row& row : rows_) {
    const uint32_t sizes[] = {row.key_bytes, row.value_bytes};
    std::fwrite(sizes, sizeof sizes, 1, file);
    std::fwrite(bytes_.data() + row.at, 1, size_t{row.key_bytes} + row.value_bytes, file);
  }
  if (std::fflush(file) != 0 || std::ferror(file) != 0) return ScratchError(scratch_dir_, "write");
  std::rewind(file);
  runs_.push_back(std::move(run));
  bytes_.clear();
  rows_.clear();
  return {};
}

Status SortedRecords::ReadHead(Run* run, bool* any) {
  uint32_t sizes[2];
  std::FILE* const file = run->file.get();
  *any = std::fread(sizes, sizeof sizes, 1, file) == 1;
  if (*any) {
    run->key.resize(sizes[0]);
    run->value.resize(sizes[1]);
    if (std::fread(run->key.data(), 1, sizes[0], file) == sizes[0] &&
        std::fread(run->value.data(), 1, sizes[1], file) == sizes[1]) {
      return {};
    }
  }
  return std::feof(file) != 0 && !*any ? Status::Ok() : ScratchError(scratch_dir_, "read");
}

Status SortedRecords::Begin() {
  if (!rows_.empty()) {
    if (Status s = Spill(); !s.ok()) return s;
  }
  for (const auto& run : runs_) {
    bool any = false;
    if (Status s = ReadHead(run.get(), &any); !s.ok()) return s;
    if (any) heads_.push_back(run.get());
  }
  std::make_heap(heads_.begin(), heads_.end(), Later);
  return {};
}

Status SortedRecords::Next() {
  std::pop_heap(heads_.begin(), heads_.end(), Later);
  bool any = false;
  if (Status s = ReadHead(heads_.back(), &any); !s.ok()) return s;
  if (any) {
    std::push_heap(heads_.begin(), heads_.end(), Later);
  } else {
    heads_.pop_back();
  }
  return {};
}

}  // namespace wq

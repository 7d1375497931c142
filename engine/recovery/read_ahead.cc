#include "engine/recovery/read_ahead.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace wq {
namespace {

constexpr size_t kChunkBytes = size_t{96} << 10;
constexpr size_t kFew = 512;  // Reading this many records costs less than a thread.

template <typename Record>
size_t BytesOf(Record record) {
  size_t bytes = 0;
  for (const std::string_view* view : ViewsOf(&record)) bytes += view->size();
  return bytes;
}

// Whether the chunk has records of this type, and room for this one.
template <typename Record>
bool Fits(const Record& record, const ReadAhead::Chunk& chunk) {
  return std::holds_alternative<std::vector<Record>>(chunk.records) &&
         chunk.bytes.capacity() - chunk.bytes.size() >= BytesOf(record);
}

// Prepares an empty chunk so that the record fits.
template <typename Record>
void MakeFit(const Record& record, ReadAhead::Chunk* chunk) {
  if (!std::holds_alternative<std::vector<Record>>(chunk->records)) {
    chunk->records.emplace<std::vector<Record>>();
  }
  chunk->bytes.reserve(std::max(BytesOf(record), kChunkBytes));
}

// REQUIRES: it fits. So chunk->bytes is not reallocated, and the views into it stay valid.
template <typename Record>
void Append(Record record, ReadAhead::Chunk* chunk) {
  std::vector<char>& bytes = chunk->bytes;
  for (std::string_view* view : ViewsOf(&record)) {
    const size_t at = bytes.size();
    bytes.insert(bytes.end(), view->begin(), view->end());
    *view = {bytes.data() + at, view->size()};
  }
  std::get<std::vector<Record>>(chunk->records).push_back(record);
}

}  // namespace

ReadAhead::ReadAhead(const storage::Reader& reader, storage::QueueId id)
    : reader_(reader), id_(id) {
  if (ReadFew(kFew)) {
    return;
  }
  try {
    thread_ = std::thread([this] { ReadAll(); });
  } catch (const std::system_error&) {
    ReadFew(SIZE_MAX);  // It takes more memory, and more time.
  }
}

ReadAhead::~ReadAhead() {
  if (thread_.joinable()) {
    {
      const MutexLock lock(mu_);
      unwanted_ = true;
      cv_.NotifyOne();
    }
    thread_.join();
  }
}

bool ReadAhead::Next(Chunk* chunk) {
  const MutexLock lock(mu_);
  while (!is_given_ && !ended_) {
    cv_.Wait(mu_);
  }
  if (!few_.empty()) {
    *chunk = std::move(few_.back());
    few_.pop_back();
    return true;
  }
  if (!is_given_) {
    return false;
  }
  std::swap(*chunk, given_);  // The reading thread uses the memory of the old chunk again.
  is_given_ = false;
  cv_.NotifyOne();
  return true;
}

Status ReadAhead::status() const {
  const MutexLock lock(mu_);
  return status_;
}

template <typename PutRecord>
Status ReadAhead::Scan(const PutRecord& put) const {
  Status status = storage::ScanQuarantine(reader_, id_, put);
  if (status.ok()) {
    status = storage::ScanPending(reader_, id_, put);
  }
  if (status.ok()) {
    status = storage::ScanDelayed(reader_, id_, put);
  }
  if (status.ok()) {
    status = storage::ScanFailures(reader_, id_, put);
  }
  if (status.ok()) {
    status = storage::ScanCursors(reader_, id_, put);
  }
  if (status.ok()) {
    status = storage::ScanSources(reader_, id_, put, put);
  }
  return status;
}

bool ReadAhead::ReadFew(size_t most) {
  size_t count = 0;
  Status status = Scan([&](const auto& record) {
    if (++count > most) {
      return false;
    }
    if (few_.empty() || !Fits(record, few_.back())) {
      MakeFit(record, &few_.emplace_back());
    }
    Append(record, &few_.back());
    return true;
  });
  if (count > most) {
    few_.clear();
    return false;
  }
  std::reverse(few_.begin(), few_.end());
  End(std::move(status));
  return true;
}

void ReadAhead::ReadAll() {
  Status status = Scan([this](const auto& record) { return Put(record); });
  Give();
  End(std::move(status));
}

void ReadAhead::End(Status status) {
  const MutexLock lock(mu_);
  status_ = std::move(status);
  ended_ = true;
  cv_.NotifyOne();
}

template <typename Record>
bool ReadAhead::Put(const Record& record) {
  if (!Fits(record, filling_)) {
    if (!Give()) {
      return false;
    }
    MakeFit(record, &filling_);
  }
  Append(record, &filling_);
  return true;
}

// Passes the filled chunk on, unless it is empty, and begins another one. Blocks: until the chunk
// before it was taken.
bool ReadAhead::Give() {
  const bool empty =
      std::visit([](const auto& records) { return records.empty(); }, filling_.records);
  const MutexLock lock(mu_);
  if (!empty) {
    while (is_given_ && !unwanted_) {
      cv_.Wait(mu_);
    }
    std::swap(filling_, given_);
    is_given_ = true;
    cv_.NotifyOne();
    std::visit([](auto& records) { records.clear(); }, filling_.records);
    filling_.bytes.clear();
  }
  return !unwanted_;
}

}  // namespace wq

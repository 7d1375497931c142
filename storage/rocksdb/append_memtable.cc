#include "storage/rocksdb/append_memtable.h"

#include <rocksdb/memtablerep.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace wq::storage {
namespace {

using rocksdb::MemTableRep;
using rocksdb::Slice;
using Records = std::vector<const char*>;

// The user key of a record: after its length, a varint, and before RocksDB's sequence and type.
std::string_view UserKey(const char* record) {
  constexpr uint32_t kTrailerBytes = 8;
  uint32_t bytes = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*record++);
    bytes |= uint32_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  return {record, bytes - kTrailerBytes};
}

// In sorted order, records are scattered in memory, so they are prefetched this many records before
// they are read.
constexpr int kAhead = 8;

void PrefetchRecord(const char* record) {
  constexpr size_t kCacheLine = 64;
  __builtin_prefetch(record);
  __builtin_prefetch(record + kCacheLine);
}

// Sorts records as `compare` does: by the bytes of their keys, the newest of one key first.
class Sorter {
 public:
  explicit Sorter(const MemTableRep::KeyComparator& compare) : compare_(compare) {}

  void Sort(Records* records) {
    rows_.reserve(records->size());
    for (const char* record : *records) rows_.push_back({0, record});
    SortRows(rows_.begin(), rows_.end(), 0, 0);
    std::transform(rows_.begin(), rows_.end(), records->begin(),
                   [](const Row& row) { return row.record; });
  }

 private:
  struct Row {
    uint64_t word;  // The eight bytes of the key that are compared; zeros behind its end.
    const char* record;
  };
  using Place = std::vector<Row>::iterator;

  // Fewer rows, and keys with longer common prefixes (which an attacker may choose), are sorted by
  // comparing whole keys.
  static constexpr std::ptrdiff_t kFewRows = 3;
  static constexpr int kMaxDepth = 64;

  // REQUIRES: the key has at least `at` bytes.
  static uint64_t WordAt(std::string_view key, size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, key.data() + at, std::min(sizeof word, key.size() - at));
    return __builtin_bswap64(word);
  }

  // Sorts rows whose keys have at least `at` bytes and are equal in these.
  void SortRows(Place begin, Place end, size_t at, int depth) {
    if (end - begin <= kFewRows || depth > kMaxDepth) {
      SortWhole(begin, end);
      return;
    }
    for (Place row = begin; row != end; ++row) {
      if (end - row > kAhead) PrefetchRecord((row + kAhead)->record);
      row->word = WordAt(UserKey(row->record), at);
    }
    const auto before = [](const Row& a, const Row& b) { return a.word < b.word; };
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
    // Rows with unequal words are in order, even if a key ends in its word. Runs of equal words are
    // not.
    for (Place run = begin; run != end;) {
      const Place next =
          std::find_if(run, end, [run](const Row& row) { return row.word != run->word; });
      SortRun(run, next, at + sizeof(uint64_t), depth + 1);
      run = next;
    }
  }

  // Sorts rows that are equal in the word before `at`.
  void SortRun(Place begin, Place end, size_t at, int depth) {
    if (end - begin < 2) return;
    if (std::all_of(begin, end, [at](const Row& row) { return UserKey(row.record).size() > at; })) {
      SortRows(begin, end, at, depth);
    } else {
      SortWhole(begin, end);
    }
  }

  void SortWhole(Place begin, Place end) {
    std::sort(begin, end,
              [this](const Row& a, const Row& b) { return compare_(a.record, b.record) < 0; });
  }

  const MemTableRep::KeyComparator& compare_;
  std::vector<Row> rows_;
};

class AppendRep final : public MemTableRep {
 public:
  AppendRep(const KeyComparator& compare, rocksdb::Allocator* allocator)
      : MemTableRep(allocator), compare_(compare) {}
  ~AppendRep() override;

  void Insert(rocksdb::KeyHandle handle) override;
  bool Contains(const char* key) const override;
  size_t ApproximateMemoryUsage() override { return 0; }  // All of it is the allocator's.
  void Get(const rocksdb::LookupKey& key, void* arguments,
           bool (*visit)(void* arguments, const char* record)) override;
  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

 private:
  class Cursor;

  // In memory of the allocator, which frees it with the memtable.
  struct Chunk {
    std::array<const char*, 1022> records;
    Chunk* next;
  };
  Chunk* NewChunk();

  std::shared_ptr<const Records> Sorted() const;
  // Appends the records that were inserted as number `begin` to `end` - 1.
  void CopyRecords(size_t begin, size_t end, Records* records) const;
  // Both are sorted.
  Records Merged(const Records& records, const Records& added) const;

  // New records are few if they are fewer than this part of the sorted ones.
  static constexpr size_t kFew = 16;

  const KeyComparator& compare_;
  // Only the writer uses them, except for the first size_ records, which never change again.
  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  std::atomic<size_t> size_{0};

  mutable Mutex mu_;
  // The first records, as many as it holds, sorted.
  mutable std::shared_ptr<const Records> sorted_ WQ_GUARDED_BY(mu_);
  // Free memory for new cursors, and the thread that has freed it: only that one takes it again, as
  // others cannot know whether the destructor has returned.
  struct Freed {
    std::thread::id thread;
    void* memory;
  };
  mutable std::vector<Freed> cursors_ WQ_GUARDED_BY(mu_);
  // The cursor of the look-up that the thread makes.
  static Cursor*& LookUp();
};

// RocksDB's iterator: at a record, or behind the last one.
class AppendRep::Cursor final : public MemTableRep::Iterator {
 public:
  explicit Cursor(const AppendRep* rep) : impl_(rep) {}

  // RocksDB calls `delete`, or the destructor alone for an iterator in an arena. rocksdb::Arena is
  // not a public type, so no memory can be taken from it. So every cursor returns its memory to
  // `rep`.
  ~Cursor() override {
    const MutexLock lock(impl_->mu_);
    impl_->cursors_.push_back({std::this_thread::get_id(), this});
  }
  static void* operator new(size_t /*bytes*/, const AppendRep& rep) {
    const MutexLock lock(rep.mu_);
    const auto own = std::find_if(
        rep.cursors_.begin(), rep.cursors_.end(),
        [id = std::this_thread::get_id()](const Freed& freed) { return freed.thread == id; });
    if (own == rep.cursors_.end()) return ::operator new(sizeof(Cursor));
    void* const memory = std::exchange(*own, rep.cursors_.back()).memory;
    rep.cursors_.pop_back();
    return memory;
  }
  static void operator delete(void* /*memory*/) {}  // See the destructor.
  static void operator delete(void* /*memory*/, const AppendRep& /*rep*/) {}

  bool Valid() const override { return records_ != nullptr && at_ < records_->size(); }
  const char* key() const override { return (*records_)[at_]; }
  void Next() override {
    ++at_;
    if (at_ + kAhead < records_->size()) PrefetchRecord((*records_)[at_ + kAhead]);
  }
  void Prev() override { --at_; }  // From the first record it wraps around: not Valid().
  void Seek(const Slice& internal_key, const char* /*memtable_key*/) override {
    Load();
    const auto place = std::lower_bound(
        records_->begin(), records_->end(), internal_key,
        [this](const char* record, const Slice& key) { return impl_->compare_(record, key) < 0; });
    at_ = static_cast<size_t>(place - records_->begin());
  }
  void SeekForPrev(const Slice& internal_key, const char* memtable_key) override {
    Seek(internal_key, memtable_key);
    if (!Valid() || impl_->compare_(key(), internal_key) > 0) Prev();
  }
  void SeekToFirst() override {
    Load();
    at_ = 0;
  }
  void SeekToLast() override {
    Load();
    at_ = records_->size() - 1;
  }

 private:
  void Load() {
    if (records_ == nullptr) records_ = impl_->Sorted();
  }

  const AppendRep* const impl_;
  std::shared_ptr<const Records> records_;  // The records at the first Seek.
  size_t at_ = 0;
};

AppendRep::Cursor*& AppendRep::LookUp() {
  thread_local Cursor* cursor = nullptr;
  return cursor;
}

AppendRep::~AppendRep() {
  const MutexLock lock(mu_);  // The last cursor may have been another thread's.
  for (const Freed& cursor : cursors_) ::operator delete(cursor.memory);
}

AppendRep::Chunk* AppendRep::NewChunk() {
  char* memory = nullptr;
  Allocate(sizeof(Chunk) + alignof(Chunk), &memory);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  memory += (alignof(Chunk) - address % alignof(Chunk)) % alignof(Chunk);
  auto* const chunk = new (memory) Chunk;
  chunk->next = nullptr;
  return chunk;
}

void AppendRep::Insert(rocksdb::KeyHandle handle) {
  const size_t size = size_.load(std::memory_order_relaxed);
  const size_t at = size % std::tuple_size_v<decltype(Chunk::records)>;
  if (at == 0) {
    Chunk* const chunk = NewChunk();
    (last_ == nullptr ? first_ : last_->next) = chunk;
    last_ = chunk;
  }
  last_->records[at] = static_cast<const char*>(handle);
  size_.store(size + 1, std::memory_order_release);
}

void AppendRep::CopyRecords(size_t begin, size_t end, Records* records) const {
  constexpr size_t kPerChunk = std::tuple_size_v<decltype(Chunk::records)>;
  size_t chunk_begin = 0;
  // The writer may be about to set the last chunk's `next`.
  for (const Chunk* chunk = nullptr; chunk_begin < end;) {
    chunk = chunk == nullptr ? first_ : chunk->next;
    const size_t chunk_end = std::min(chunk_begin + kPerChunk, end);
    for (size_t at = std::max(begin, chunk_begin); at < chunk_end; ++at) {
      records->push_back(chunk->records[at - chunk_begin]);
    }
    chunk_begin = chunk_end;
  }
}

// Reads and writes take turns while queues are opened or deleted: then each read finds a few new
// records, and only those are compared.
std::shared_ptr<const Records> AppendRep::Sorted() const {
  const MutexLock lock(mu_);
  const size_t size = size_.load(std::memory_order_acquire);
  const size_t known = sorted_ == nullptr ? 0 : sorted_->size();
  if (sorted_ != nullptr && known == size) return sorted_;
  const bool few = size - known < known / kFew;
  Records added;
  added.reserve(few ? size - known : size);
  CopyRecords(few ? known : 0, size, &added);
  Sorter(compare_).Sort(&added);
  sorted_ = std::make_shared<const Records>(few ? Merged(*sorted_, added) : std::move(added));
  return sorted_;
}

Records AppendRep::Merged(const Records& records, const Records& added) const {
  Records all;
  all.reserve(records.size() + added.size());
  auto rest = records.begin();
  for (const char* const record : added) {
    const auto place =
        std::lower_bound(rest, records.end(), record,
                         [this](const char* a, const char* b) { return compare_(a, b) < 0; });
    all.insert(all.end(), rest, place);
    all.push_back(record);
    rest = place;
  }
  all.insert(all.end(), rest, records.end());
  return all;
}

bool AppendRep::Contains(const char* key) const {
  const std::shared_ptr<const Records> records = Sorted();
  return std::binary_search(records->begin(), records->end(), key,
                            [this](const char* a, const char* b) { return compare_(a, b) < 0; });
}

MemTableRep::Iterator* AppendRep::GetIterator(rocksdb::Arena* /*arena*/) {
  return new (*this) Cursor(this);
}

// The base class makes an iterator for the look-up, and never destroys it.
void AppendRep::Get(const rocksdb::LookupKey& key, void* arguments,
                    bool (*visit)(void* arguments, const char* record)) {
  MemTableRep::Get(key, arguments, visit);
  delete std::exchange(LookUp(), nullptr);
}

MemTableRep::Iterator* AppendRep::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  Cursor* const cursor = new (*this) Cursor(this);
  if (arena == nullptr) LookUp() = cursor;
  return cursor;
}

class AppendFactory final : public rocksdb::MemTableRepFactory {
 public:
  // For the OPTIONS file, which only RocksDB's tools read: they know this name.
  const char* Name() const override { return "VectorRepFactory"; }
  MemTableRep* CreateMemTableRep(const MemTableRep::KeyComparator& compare,
                                 rocksdb::Allocator* allocator,
                                 const rocksdb::SliceTransform* /*prefix*/,
                                 rocksdb::Logger* /*logger*/) override {
    return new AppendRep(compare, allocator);
  }
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> AppendMemtable() {
  return std::make_shared<AppendFactory>();
}

}  // namespace wq::storage

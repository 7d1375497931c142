#include "engine/read_ahead.h"

#include <cstddef>
#include <thread>

#include "engine/mutex.h"

namespace wq {
namespace {

using storage::MutationBatch;

constexpr size_t kChunkBytes = size_t{128} << 10;

// One chunk of records on its way from the thread that reads to the one that visits.
class Handover {
 public:
  // Gives the chunk away, and clears it. Blocks: until the one before was taken. False: no more is wanted.
  bool Give(MutationBatch* chunk) WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    while (!chunk_.empty() && !closed_) {
      cv_.Wait(mu_);
    }
    chunk_.Swap(*chunk);
    chunk->Clear();
    cv_.NotifyOne();
    return !closed_;
  }
  // Blocks: until there is one. False: there is no more.
  bool Take(MutationBatch* chunk) WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    while (chunk_.empty() && !closed_) {
      cv_.Wait(mu_);
    }
    chunk->Clear();
    chunk_.Swap(*chunk);
    cv_.NotifyOne();
    return !chunk->empty();
  }
  // From either side: nothing is given any more, or nothing is taken.
  void Close() WQ_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    closed_ = true;
    cv_.NotifyOne();
  }

 private:
  Mutex mu_;
  CondVar cv_;  // One thread on either side, of which at most one waits.
  MutationBatch chunk_ WQ_GUARDED_BY(mu_);
  bool closed_ WQ_GUARDED_BY(mu_) = false;
};

// False if the visitor wants no more.
bool VisitAll(const MutationBatch& chunk, const storage::Reader::Visitor& visit) {
  bool go_on = true;
  chunk.ForEach(
      [&](const storage::Mutation& record) { go_on = go_on && visit(record.key, record.value); });
  return go_on;
}

Status ScanInThread(const storage::Reader& reader, storage::Family family, std::string_view begin,
                    std::string_view end, const storage::Reader::Visitor& visit) {
  Handover handover;
  Status scanned;  // The reading thread's, until it has ended.
  std::thread reading([&] {
    MutationBatch chunk;
    scanned = reader.Scan(family, begin, end, [&](std::string_view key, std::string_view value) {
      chunk.Put(family, key, value);
      return chunk.bytes() < kChunkBytes || handover.Give(&chunk);
    });
    if (!chunk.empty()) {
      handover.Give(&chunk);
    }
    handover.Close();
  });
  bool go_on = true;
  MutationBatch chunk;
  while (go_on && handover.Take(&chunk)) {
    go_on = VisitAll(chunk, visit);
  }
  handover.Close();
  reading.join();
  return go_on ? scanned : Status::Ok();
}

}  // namespace

Status ReadAhead::Scan(storage::Family family, std::string_view begin, std::string_view end,
                       const Visitor& visit) const {
  // The first chunk without a thread: most scans end in it.
  MutationBatch chunk;
  std::string next;  // Where the thread goes on: right behind the first chunk's last key.
  const Status first =
      reader_.Scan(family, begin, end, [&](std::string_view key, std::string_view value) {
        chunk.Put(family, key, value);
        if (chunk.bytes() >= kChunkBytes) {
          next.assign(key).push_back('\0');
        }
        return next.empty();
      });
  if (!VisitAll(chunk, visit)) {
    return {};
  }
  return next.empty() ? first : ScanInThread(reader_, family, next, end, visit);
}

}  // namespace wq

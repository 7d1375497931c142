#include "wq/parallelize.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace wq {
namespace {

class PieceRun {
 public:
  PieceRun(const std::stop_token& stop, size_t pieces, const std::function<void(size_t)>& fn,
           size_t chunk)
      : stop_(stop), pieces_(pieces), fn_(fn), chunk_(chunk) {}

  // The body of each worker.
  void Work() {
    for (size_t begin = 0, end = 0; NextChunk(&begin, &end);) {
      for (size_t piece = begin; piece < end; ++piece) {
        if (Ended() || !RunPiece(piece)) {
          return;
        }
      }
    }
  }

  Status Outcome() {
    const MutexLock lock(mu_);
    if (!error_.ok()) {
      return error_;
    }
    const size_t run = run_.load();
    return run == pieces_ ? Status::Ok()
                          : Status::ShuttingDown("stopped after " + std::to_string(run) + " of " +
                                                 std::to_string(pieces_) + " pieces");
  }

 private:
  bool NextChunk(size_t* begin, size_t* end) {
    const MutexLock lock(mu_);
    *begin = next_;
    *end = next_ + std::min(chunk_, pieces_ - next_);
    next_ = *end;
    return *begin < *end;
  }

  bool Ended() const { return failed_.load() || stop_.stop_requested(); }

  bool RunPiece(size_t piece) {
    std::string what = "unknown exception";
    try {
      fn_(piece);
      run_.fetch_add(1);
      return true;
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {  // It has no text.
    }
    failed_.store(true);
    const MutexLock lock(mu_);
    if (error_.ok()) {
      error_ = Status::InvalidArgument("piece " + std::to_string(piece) + ": " + what);
    }
    return false;
  }

  const std::stop_token& stop_;
  const size_t pieces_;
  const std::function<void(size_t)>& fn_;
  const size_t chunk_;

  std::atomic<size_t> run_ = 0;  // Pieces that returned.
  std::atomic<bool> failed_ = false;

  Mutex mu_;
  size_t next_ WQ_GUARDED_BY(mu_) = 0;  // The first piece that is not taken.
  Status error_ WQ_GUARDED_BY(mu_);     // Of the first piece that threw.
};

}  // namespace

Status ParallelizeUntil(const std::stop_token& stop, size_t workers, size_t pieces,
                        const std::function<void(size_t)>& fn, size_t chunk) {
  if (workers == 0 || fn == nullptr) {
    return Status::InvalidArgument(workers == 0 ? "no workers" : "no function");
  }
  if (pieces == 0) {
    return {};
  }
  chunk = std::max<size_t>(chunk, 1);
  const size_t chunks = pieces / chunk + (pieces % chunk == 0 ? 0 : 1);
  PieceRun run(stop, pieces, fn, chunk);
  std::vector<std::jthread> others;
  try {
    others.reserve(std::min(workers, chunks) - 1);
    while (others.size() + 1 < std::min(workers, chunks)) {
      others.emplace_back([&run] { run.Work(); });
    }
  } catch (const std::exception&) {  // No more threads or memory: fewer workers run.
  }
  run.Work();
  others.clear();  // Joins.
  return run.Outcome();
}

}  // namespace wq

// SearchTurns: one search, or reading of a history, at a time, so that many open pages take one
// core of the server and the memory of one answer at most.
//
//   const SearchTurn turn(&turns, caller);
//   if (!turn.status().ok()) return turn.status();
//
// Threading: thread-safe.
#pragma once

#include <cstddef>

#include "base/mutex.h"
#include "server/api/method.h"
#include "wq/status.h"

namespace wq {

class SearchTurns {
 public:
  // Calls that wait, each with a thread.
  static constexpr size_t kMaxWaiting = 16;

 private:
  friend class SearchTurn;
  Mutex mu_;
  CondVar changed_;
  bool taken_ WQ_GUARDED_BY(mu_) = false;
  size_t waiting_ WQ_GUARDED_BY(mu_) = 0;
};

class SearchTurn {
 public:
  // Null: this one needs no turn. Blocks: while another one has it, and the caller is not gone.
  SearchTurn(SearchTurns* turns, const Caller& caller);
  ~SearchTurn();
  SearchTurn(const SearchTurn&) = delete;
  SearchTurn& operator=(const SearchTurn&) = delete;

  // TimedOut: kMaxWaiting others wait already. ClientIsGone: the caller left meanwhile.
  const Status& status() const { return status_; }

 private:
  SearchTurns* const turns_;
  Status status_;
};

}  // namespace wq

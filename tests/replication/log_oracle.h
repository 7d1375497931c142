// LogOracle: what the replicas of a log have to be, by a plain reading of the log after each step
// of a simulation. It decodes the entries by itself, and keeps what is truncated.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/mutation_batch.h"
#include "storage/storage.h"
#include "wq/replicated_log.h"

namespace wq::replication {

using Rows = std::map<std::pair<storage::Family, std::string>, std::string>;

// The rows of a copy that belong to the store.
Rows RowsOf(const storage::Reader& copy);

class LogOracle {
 public:
  explicit LogOracle(ReplicatedLog* log) : log_(log) {}

  // Reads what the log has got. Fails the test if a complete group is lost or changed, or an epoch
  // goes back.
  void Look();
  // Reads all that the log has kept, and compares it with what it had.
  void LookAgain();

  // To be called before the first group of an ownership can be in the log: `ahead` is what it has
  // to have, and may be written by `name` only.
  void ExpectBegin(uint64_t epoch, const std::string& name) { owners_[epoch] = name; }
  // The replica keeps these mutations aside, which follow `epoch`. Empty: nothing.
  void KeepAhead(const std::string& name, uint64_t epoch, const std::string& mutations);
  void DropAhead(const std::string& name) { ahead_.erase(name); }

  // The mutations of a batch that an owner is to write. Every group is such a batch, whole, but for
  // the first of an ownership.
  void Issued(const std::string& mutations) { issued_.insert(mutations); }
  // A write was acknowledged: it has to be in the log by now, after all that were before.
  void Acknowledged(const std::string& mutations);
  // The owner was refused: the write is not to be in the log.
  void Refused(const std::string& mutations) { refused_.push_back(mutations); }
  // Fails the test if a write that was refused is in the log.
  void CheckRefused() const;

  // Of the last complete group.
  LogSequence last() const { return last_; }
  const Rows& rows() const { return rows_; }

 private:
  struct Ahead {
    uint64_t epoch = 0;
    std::string mutations;
  };
  void TakeGroup(uint64_t epoch, LogSequence last, const std::string& mutations);

  ReplicatedLog* const log_;
  LogSequence last_ = 0;
  uint64_t epoch_ = 0;  // Of the last complete group.
  Rows rows_;
  std::map<LogSequence, std::string> entries_;  // Of all complete groups.
  std::vector<std::string> groups_;             // The mutations of each.
  size_t acknowledged_ = 0;                     // The group of the last one that was, plus 1.
  std::set<std::string> issued_;
  std::vector<std::string> refused_;
  std::map<uint64_t, std::string> owners_;
  std::map<std::string, Ahead> ahead_;
};

}  // namespace wq::replication

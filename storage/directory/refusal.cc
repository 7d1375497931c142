#include <algorithm>
#include <string_view>
#include <utility>

#include "storage/store_directory.h"

namespace wq::storage {
namespace {

// A path as a shell reads it.
std::string Quoted(const std::string& path) {
  constexpr std::string_view kPlain =
      "+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  if (!path.empty() && path.find_first_not_of(kPlain) == path.npos) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string RunWqctl(const std::string& dir) {
  return "run wqctl --store " + Quoted(WithoutTrailingSlashes(dir));
}

// Also in the words of RocksDB.
bool IsFull(std::string_view message) {
  return message.find("No space left on device") != message.npos ||
         message.find("Disk quota exceeded") != message.npos;
}

std::string NextStep(const std::string& dir) {
  const std::string wqctl = RunWqctl(dir);
  return "; " + wqctl + " verify, then restore a snapshot or " + wqctl + " repair --into NEW";
}

}  // namespace

Status NotAStore(const std::string& dir, const DirectoryInfo& found) {
  if (found.is_being_made) {
    return Status::NotFound(dir + " is not finished: a run is making it, or was interrupted; do " +
                            "that again, which removes this");
  }
  switch (found.state) {
    case DirectoryState::kMissing:
      return Status::NotFound("there is no store " + dir + "; " + RunWqctl(dir) +
                              " init to make one");
    case DirectoryState::kEmpty:
      return Status::NotFound(dir + " is not a wq store: it is empty");
    case DirectoryState::kUnfinished:
      if (found.has_claim) {
        return Status::NotFound(dir +
                                " is not a wq store yet: a run with --replicate began to make " +
                                "it a replica; run that again");
      }
      return Status::NotFound(dir +
                              " is not a wq store: its creation was not finished; create it " +
                              "again (wqctl init), which finishes that");
    case DirectoryState::kForeign:
    case DirectoryState::kStore:
      break;
  }
  const std::string lost = found.only_database
                               ? "; if it was one, " + RunWqctl(dir) + " repair --into NEW"
                               : std::string();
  return Status::NotFound(dir + " is not a wq store: it holds " + found.foreign_file +
                          " and no FORMAT" + lost);
}

Status Refused(const std::string& dir, Status status) {
  std::string next;
  if (status.code() == StatusCode::kCorruption) next = NextStep(dir);
  if (status.code() == StatusCode::kIOError && IsFull(status.message())) {
    next = "; make space on that disk, and try again";
  }
  if (status.message().ends_with(next)) return status;
  return Status(status.code(), status.message() + next);
}

std::string WhatIsWrong(const std::string& dir, const Status& refused) {
  std::string message = refused.message();
  const std::string next = NextStep(dir);
  if (message.ends_with(next)) message.resize(message.size() - next.size());
  return message;
}

}  // namespace wq::storage

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

std::string NextStep(const std::string& dir) {
  const std::string wqctl = "run wqctl --store " + Quoted(WithoutTrailingSlashes(dir));
  return "; " + wqctl + " verify, then restore a snapshot or " + wqctl + " repair --into NEW";
}

}  // namespace

Status Refused(const std::string& dir, Status status) {
  const std::string next = NextStep(dir);
  if (status.code() != StatusCode::kCorruption || status.message().ends_with(next)) return status;
  return Status::Corruption(status.message() + next);
}

std::string WhatIsWrong(const std::string& dir, const Status& refused) {
  std::string message = refused.message();
  const std::string next = NextStep(dir);
  if (message.ends_with(next)) message.resize(message.size() - next.size());
  return message;
}

}  // namespace wq::storage

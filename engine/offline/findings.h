// Findings: collects the findings of a VerifyReport, up to VerifyOptions::max_findings of them.
// Thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "storage/row_rules.h"
#include "storage/store_directory.h"
#include "wq/keys.h"
#include "wq/verify.h"

namespace wq {

inline std::string FamilyName(storage::Family family) {
  return std::string("family ") + storage::kFamilyNames[static_cast<int>(family)];
}

class Findings {
 public:
  // Both are borrowed.
  Findings(const VerifyOptions& options, VerifyReport* report)
      : options_(options), report_(report) {}

  void Add(std::string_view where, std::string_view what) {
    AddEscaped(where, EscapeKey(what, kMaxBytes));
  }
  // A message of a check of the store's files, which begins with the path of a file.
  void AddFile(const std::string& dir, std::string_view message) {
    std::string inside = storage::WithoutTrailingSlashes(dir) + "/";
    if (!message.starts_with(inside)) return Add(dir, message);
    message.remove_prefix(inside.size());
    const std::string_view file = message.substr(0, message.find_first_of(" ,:"));
    Add(storage::IsStoreFile(file) ? inside.append(file) : dir, message);
  }
  // A rule that a row of the key breaks.
  void AddKey(std::string_view where, std::string_view key, storage::RowRule broken) {
    AddEscaped(where, DescribeKey(key, broken));
  }
  VerifyReport& report() { return *report_; }

 private:
  static constexpr size_t kMaxBytes = 4096;

  void AddEscaped(std::string_view where, std::string what) {
    if (report_->findings.size() >= options_.max_findings) {
      ++report_->more_findings;
      return;
    }
    report_->findings.push_back({EscapeKey(where, kMaxBytes), std::move(what)});
  }

  const VerifyOptions& options_;
  VerifyReport* const report_;
};

}  // namespace wq

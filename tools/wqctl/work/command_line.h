// CommandLine: the user's command, with places for a job's key.
//
//   CommandLine line({"sh", "-c", "gzip -k \"$1\"", "_", "{}"}, /*append_key=*/true);
//   std::vector<std::string> argv = line.ArgvFor(key);
//
// Within a word "{}" becomes the key. If no word has it, the key is appended. Immutable.
#pragma once

#include <string>
#include <vector>

namespace wqctl {

class CommandLine {
 public:
  // REQUIRES: words is not empty. `append_key`: as said above; otherwise no key is appended.
  CommandLine(std::vector<std::string> words, bool append_key);

  const std::string& program() const { return words_.front(); }
  bool program_varies() const { return program_varies_; }  // Each job has its own program.
  std::vector<std::string> ArgvFor(const std::string& key) const;
  // A key with a NUL byte cannot be in an argument.
  bool UsesKey() const { return uses_key_; }

 private:
  const std::vector<std::string> words_;
  const bool append_key_;
  const bool uses_key_;
  const bool program_varies_;
};

// The words as a shell reads them, on one line. Words with characters that a shell changes are in
// '…'; words with line breaks, or other bytes that a terminal does not show as they are, in $'…'.
std::string ShellText(const std::vector<std::string>& argv);

}  // namespace wqctl

#include "tools/wqctl/work/command_line.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tools/wqctl/text/bytes_text.h"

namespace wqctl {
namespace {

constexpr const char* kKeyMark = "{}";

// Bytes that no shell changes.
constexpr std::string_view kPlainPunctuation = "@%+=:,./-_";

bool HasMark(const std::string& word) { return absl::StrContains(word, kKeyMark); }

bool AnyHasMark(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), HasMark);
}

bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         kPlainPunctuation.find(c) != kPlainPunctuation.npos;
}

std::string Quote(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return word;
  // $'…' of bash, ksh and zsh.
  if (NeedsEscapes(word)) return "$'" + absl::CHexEscape(word) + "'";
  return "'" + absl::StrReplaceAll(word, {{"'", "'\\''"}}) + "'";
}

}  // namespace

CommandLine::CommandLine(std::vector<std::string> words, bool append_key)
    : words_(std::move(words)),
      append_key_(append_key && !AnyHasMark(words_)),
      uses_key_(append_key_ || AnyHasMark(words_)),
      program_varies_(HasMark(words_.front())) {}

std::vector<std::string> CommandLine::ArgvFor(const std::string& key) const {
  std::vector<std::string> argv;
  argv.reserve(words_.size() + 1);
  for (const std::string& word : words_) {
    argv.push_back(absl::StrReplaceAll(word, {{kKeyMark, key}}));
  }
  if (append_key_) argv.push_back(key);
  return argv;
}

std::string ShellText(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + Quote(word);
  return text;
}

}  // namespace wqctl

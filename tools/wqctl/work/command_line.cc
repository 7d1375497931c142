#include "tools/wqctl/work/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tools/wqctl/text/bytes_text.h"

namespace wqctl {
namespace {

constexpr std::string_view kKeyMark = "{}";
constexpr std::array<std::string_view, 3> kMarks = {kKeyMark, "{#}", "{%}"};

// Bytes that no shell changes.
constexpr std::string_view kPlainPunctuation = "@%+=:,./-_";

bool HasMark(std::string_view word) {
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [word](std::string_view mark) { return word.find(mark) != word.npos; });
}

bool AnyHasMark(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), HasMark);
}

bool AnyHasKeyMark(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.find(kKeyMark) != std::string::npos;
  });
}

std::string Fill(std::string_view word, const Job& job) {
  std::string result;
  while (!word.empty()) {
    size_t length = 1;
    if (word.starts_with("{}")) {
      result.append(job.key);
      length = 2;
    } else if (word.starts_with("{#}")) {
      result.append(std::to_string(job.sequence));
      length = 3;
    } else if (word.starts_with("{%}")) {
      result.append(std::to_string(job.slot));
      length = 3;
    } else {
      result.push_back(word.front());
    }
    word.remove_prefix(length);
  }
  return result;
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPlainPunctuation.find(c) != kPlainPunctuation.npos;
}

// $'…' of bash, ksh and zsh.
std::string QuoteWithEscapes(const std::string& word) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      quoted += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return quoted + "'";
}

std::string Quote(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return word;
  if (NeedsEscapes(word)) return QuoteWithEscapes(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

CommandLine::CommandLine(std::vector<std::string> words, bool append_key)
    : words_(std::move(words)),
      append_key_(append_key && !AnyHasMark(words_)),
      uses_key_(append_key_ || AnyHasKeyMark(words_)),
      program_varies_(HasMark(words_.front())) {}

std::vector<std::string> CommandLine::ArgvFor(const Job& job) const {
  std::vector<std::string> argv;
  argv.reserve(words_.size() + 1);
  for (const std::string& word : words_) argv.push_back(Fill(word, job));
  if (append_key_) argv.push_back(job.key);
  return argv;
}

std::string ShellText(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + Quote(word);
  return text;
}

}  // namespace wqctl

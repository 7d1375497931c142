#include "tools/wqctl/work/command_line.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tools/wqctl/text/bytes_text.h"

namespace wqctl {
namespace {

constexpr std::string_view kKeyMark = "{}";

// Bytes that no shell changes.
constexpr std::string_view kPlainPunctuation = "@%+=:,./-_";

bool HasMark(const std::string& word) { return word.find(kKeyMark) != std::string::npos; }

bool AnyHasMark(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), HasMark);
}

std::string Fill(std::string word, const std::string& key) {
  for (size_t at = word.find(kKeyMark); at != std::string::npos;
       at = word.find(kKeyMark, at + key.size())) {
    word.replace(at, kKeyMark.size(), key);
  }
  return word;
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
      uses_key_(append_key_ || AnyHasMark(words_)),
      program_varies_(HasMark(words_.front())) {}

std::vector<std::string> CommandLine::ArgvFor(const std::string& key) const {
  std::vector<std::string> argv;
  argv.reserve(words_.size() + 1);
  for (const std::string& word : words_) argv.push_back(Fill(word, key));
  if (append_key_) argv.push_back(key);
  return argv;
}

std::string ShellText(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) text += (text.empty() ? "" : " ") + Quote(word);
  return text;
}

}  // namespace wqctl

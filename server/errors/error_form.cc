#include "server/errors/error_form.h"

#include <absl/strings/ascii.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace wq {
namespace {

constexpr std::string_view kKey = "<key>";
constexpr std::string_view kQuotedKey = "\"<key>\"";
constexpr size_t kMinPartBytes = 3;

// What is blanked, in the order in which it is tried at one place. \b and \B before a pattern, and
// behind it: no word continues there.
struct Blank {
  const char* pattern;
  std::string_view with;
};

#define WQ_TIME R"re(\d+(?:\.\d+)?(?:ns|us|\xC2\xB5s|ms|s|m|h))re"
constexpr std::array kBlanks = {
    Blank{R"re("[^"]*")re", "\"…\""},
    Blank{R"re(\B'[^']+'\B)re", "'…'"},
    Blank{R"re(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)re",
          "<time>"},
    Blank{R"re(\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)re", "<id>"},
    Blank{R"re(\b[a-zA-Z][a-zA-Z0-9+.]*://[^\s"'<>]+)re", "<url>"},
    Blank{R"re(\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)re", "<address>"},
    Blank{R"re(\[[0-9a-fA-F]*:[0-9a-fA-F:.]*\](?::\d+)?)re", "<address>"},
    Blank{R"re(\B(?:/[\w.@%+~-]+)+/?)re", "<path>"},
    Blank{R"re(\b0x[0-9a-fA-F]+\b)re", "<id>"},
    Blank{R"re(\b[a-fA-F]*[0-9][0-9a-fA-F]*[a-fA-F][0-9a-fA-F]{5,}\b)re", "<id>"},
    Blank{R"re(\b[a-fA-F]+[0-9][0-9a-fA-F]{6,}\b)re", "<id>"},
    Blank{R"re(\b(?:)re" WQ_TIME R"re()+\b)re", "<time>"},
    Blank{R"re(\d+(?:\.\d+)?)re", "<n>"},
};
#undef WQ_TIME

bool IsWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Any of the patterns, each in a group of its own. Errors are bytes, so it matches bytes.
const re2::RE2& AnyBlank() {
  static const auto* const any = [] {
    std::string pattern;
    for (const Blank& blank : kBlanks) {
      pattern += (pattern.empty() ? "(" : "|(") + std::string(blank.pattern) + ")";
    }
    return new re2::RE2(pattern, re2::RE2::Latin1);
  }();
  return *any;
}

// Replaces `word` where no word continues around it.
void BlankWord(std::string_view word, std::string* text) {
  const auto continues = [](char c) { return IsWord(c) || c == '-'; };
  for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at)) {
    const size_t end = at + word.size();
    if ((at > 0 && continues((*text)[at - 1])) || (end < text->size() && continues((*text)[end]))) {
      ++at;
      continue;
    }
    text->replace(at, word.size(), kKey);
    at += kKey.size();
  }
}

std::string WithSingleSpaces(std::string_view error) {
  std::string text;
  text.reserve(error.size());
  for (const char c : error) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

std::string WithoutKey(std::string_view error, std::string_view key) {
  std::string text = WithSingleSpaces(error.substr(0, kMaxFormBytes));
  if (!key.empty()) BlankWord(key, &text);
  const std::string_view part = key.substr(key.rfind('/') + 1);
  if (part.size() >= kMinPartBytes && part.size() < key.size()) BlankWord(part, &text);
  return text;
}

std::string FormOf(std::string_view text) {
  std::string form;
  form.reserve(text.size());
  std::array<re2::StringPiece, 1 + kBlanks.size()> found;  // The whole match, then the groups.
  size_t at = 0;
  while (AnyBlank().Match({text.data(), text.size()}, at, text.size(), re2::RE2::UNANCHORED,
                          found.data(), static_cast<int>(found.size()))) {
    const size_t begin = static_cast<size_t>(found[0].data() - text.data());
    const auto group = std::find_if(found.begin() + 1, found.end(),
                                    [](const auto& one) { return one.data() != nullptr; });
    const std::string_view with = kBlanks[static_cast<size_t>(group - found.begin()) - 1].with;
    form += text.substr(at, begin - at);
    const std::string_view what = text.substr(begin, found[0].size());
    form += what == kQuotedKey ? kQuotedKey : with;
    at = begin + what.size();
  }
  return form.append(text.substr(at));
}

const std::string& ErrorForms::Of(std::string_view error, std::string_view key) {
  constexpr size_t kMaxForms = 1000;
  std::string text = WithoutKey(error, key);
  if (const auto found = forms_.find(text); found != forms_.end()) return found->second;
  if (forms_.size() >= kMaxForms) forms_.clear();
  std::string form = FormOf(text);
  return forms_.emplace(std::move(text), std::move(form)).first->second;
}

}  // namespace wq

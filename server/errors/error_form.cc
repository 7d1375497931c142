#include "server/errors/error_form.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace wq {
namespace {

constexpr std::string_view kKey = "<key>";
constexpr std::string_view kQuotedKey = "\"<key>\"";
constexpr size_t kMinPartBytes = 3;

// What is blanked, in the order in which it is tried at one place.
struct Blank {
  const char* pattern;
  std::string_view with;
  // Only if no word continues before it, or behind it.
  bool begins_word = false;
  bool ends_word = false;
};

#define WQ_UNITS "(?:ns|us|\xC2\xB5s|ms|s|m|h)"
constexpr std::array kBlanks = {
    Blank{R"re("[^"]*")re", "\"…\""},
    Blank{R"re('[^']+')re", "'…'", true, true},
    Blank{R"re(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)re",
          "<time>"},
    Blank{R"re([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})re", "<id>", true, true},
    Blank{R"re([a-zA-Z][a-zA-Z0-9+.]*://[^\s"'<>]+)re", "<url>", true},
    Blank{R"re(\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?)re", "<address>", true, true},
    Blank{R"re(\[[0-9a-fA-F]*:[0-9a-fA-F:.]*\](?::\d+)?)re", "<address>"},
    Blank{R"re((?:/[\w.@%+~-]+)+/?)re", "<path>", true},
    Blank{"0x[0-9a-fA-F]+", "<id>", true, true},
    Blank{"[a-fA-F]*[0-9][0-9a-fA-F]*[a-fA-F][0-9a-fA-F]{5,}", "<id>", true, true},
    Blank{"[a-fA-F]+[0-9][0-9a-fA-F]{6,}", "<id>", true, true},
    Blank{R"re(\d+(?:\.\d+)?)re" WQ_UNITS R"re((?:\d+(?:\.\d+)?)re" WQ_UNITS ")*", "<time>", true,
          true},
    Blank{R"re(\d+(?:\.\d+)?)re", "<n>"},
};
#undef WQ_UNITS

bool IsWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Errors are bytes, so the patterns match bytes.
re2::RE2::Options Bytes() {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

// Each pattern at the beginning of a text.
const std::array<re2::RE2, kBlanks.size()>& Patterns() {
  static const auto* const patterns = [] {
    return std::apply(
        [](const auto&... blank) {
          return new std::array<re2::RE2, kBlanks.size()>{re2::RE2(blank.pattern, Bytes())...};
        },
        kBlanks);
  }();
  return *patterns;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexLetter(char c) { return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Which blanks, by their indexes, a text that begins with `c` may match: bits. So most patterns,
// which cost much more than this, are not tried at most places.
constexpr size_t kQuoted = 0;
constexpr size_t kUrl = 4;
uint32_t MayMatch(char c) {
  constexpr uint32_t kAtDigit = 1U << 2 | 1U << 3 | 1U << 5 | 1U << 9 | 1U << 11 | 1U << 12;
  constexpr uint32_t kAtHexLetter = 1U << 3 | 1U << 9 | 1U << 10;
  uint32_t may = 0;
  may |= c == '"' ? 1U << 0 : 0;
  may |= c == '\'' ? 1U << 1 : 0;
  may |= c == '[' ? 1U << 6 : 0;
  may |= c == '/' ? 1U << 7 : 0;
  may |= c == '0' ? 1U << 8 : 0;
  may |= IsDigit(c) ? kAtDigit : 0;
  may |= IsHexLetter(c) ? kAtHexLetter : 0;
  may |= IsLetter(c) ? 1U << kUrl : 0;
  return may;
}
static_assert(kBlanks.size() == 13 && std::string_view(kBlanks[kUrl].with) == "<url>");

// Whether a scheme may begin at this letter.
bool MayBeUrl(std::string_view text, size_t at) {
  while (at < text.size() &&
         (IsLetter(text[at]) || IsDigit(text[at]) || text[at] == '+' || text[at] == '.')) {
    ++at;
  }
  return text.substr(at).starts_with("://");
}

// Whether an id of hexadecimal digits may begin here: none has less than seven in a row.
bool MayBeId(std::string_view text, size_t at) {
  constexpr size_t kLeast = 7;
  const size_t end = std::min(text.size(), at + kLeast);
  while (at < end && (IsDigit(text[at]) || IsHexLetter(text[at]))) {
    ++at;
  }
  return at == end;
}

size_t EndOfDigits(std::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) {
    ++at;
  }
  return at;
}

// The end of the number at `at`, with its fraction, as the last of the blanks has it.
constexpr size_t kNumber = 12;
size_t EndOfNumber(std::string_view text, size_t at) {
  const size_t end = EndOfDigits(text, at);
  const size_t end_of_fraction =
      end < text.size() && text[end] == '.' ? EndOfDigits(text, end + 1) : end;
  return end_of_fraction > end + 1 ? end_of_fraction : end;
}

// Which of the blanks that are more than a number may begin with the number at `at`: bits.
uint32_t MayBeMore(std::string_view text, size_t at) {
  constexpr size_t kYear = 4;
  constexpr std::string_view kUnitBegins = "nu\xC2msh";
  uint32_t may = 1U << kNumber;
  const size_t end = EndOfDigits(text, at);
  if (end == at + kYear && end < text.size() && (text[end] == '-' || text[end] == '/')) {
    may |= 1U << 2;
  }
  if (end < at + kYear && end < text.size() && text[end] == '.') {
    may |= 1U << 5;
  }
  const size_t unit = EndOfNumber(text, at);
  if (unit < text.size() && kUnitBegins.find(text[unit]) != std::string_view::npos) {
    may |= 1U << 11;
  }
  return may;
}

// As MayMatch, of the text at `at`.
uint32_t MayMatchAt(std::string_view text, size_t at) {
  constexpr uint32_t kIds = 1U << 3 | 1U << 9 | 1U << 10;
  constexpr uint32_t kNumbers = 1U << 2 | 1U << 5 | 1U << 11 | 1U << kNumber;
  uint32_t may = MayMatch(text[at]);
  if ((may & kNumbers) != 0) {
    may = (may & ~kNumbers) | MayBeMore(text, at);
  }
  if ((may & kIds) != 0 && !MayBeId(text, at)) {
    may &= ~kIds;
  }
  if ((may >> kUrl & 1U) != 0 && !MayBeUrl(text, at)) {
    may &= ~(1U << kUrl);
  }
  return may;
}

// The end of what `blank` is to replace in the text at `at`; `at` if nothing is.
size_t EndOf(size_t blank, std::string_view text, size_t at) {
  if (blank == kNumber) return EndOfNumber(text, at);
  if (blank == kQuoted) {
    const size_t quote = text.find('"', at + 1);
    return quote == std::string_view::npos ? at : quote + 1;
  }
  if (kBlanks[blank].begins_word && at > 0 && IsWord(text[at - 1])) return at;
  re2::StringPiece found;
  if (!Patterns()[blank].Match({text.data(), text.size()}, at, text.size(), re2::RE2::ANCHOR_START,
                               &found, 1)) {
    return at;
  }
  const size_t end = at + found.size();
  return kBlanks[blank].ends_word && end < text.size() && IsWord(text[end]) ? at : end;
}

// Whether any pattern may match here: the letters inside a word begin nothing, and digits do.
bool MayBegin(std::string_view text, size_t at) {
  const char c = text[at];
  if (c == '"' || c == '\'' || c == '/' || c == '[' || (c >= '0' && c <= '9')) return true;
  return IsWord(c) && (at == 0 || !IsWord(text[at - 1]));
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
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    std::string_view with;
    const uint32_t may = MayBegin(text, at) ? MayMatchAt(text, at) : 0;
    for (size_t blank = 0; blank < kBlanks.size() && end == at; ++blank) {
      if ((may >> blank & 1U) != 0) {
        end = EndOf(blank, text, at);
        with = kBlanks[blank].with;
      }
    }
    const std::string_view found = text.substr(at, end - at);
    if (found.empty()) {
      form += text[at++];
    } else {
      form += found == kQuotedKey ? found : with;
    }
    at = std::max(at, end);
  }
  return form;
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

#include "server/browse/key_filter.h"

#include <re2/re2.h>

#include <algorithm>

#include "server/api/convert.h"

namespace wq {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr int64_t kPatternMemory = int64_t{4} << 20;

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

Status BadField(std::string_view field, std::string_view why) {
  return Status::InvalidArgument("filter." + std::string(field) + ": " + std::string(why));
}

Status CompilePattern(std::string_view field, const std::string& pattern,
                      const re2::RE2::Options& base, std::unique_ptr<re2::RE2>* compiled) {
  if (pattern.empty()) {
    return {};
  }
  re2::RE2::Options options = base;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  *compiled = std::make_unique<re2::RE2>(pattern, options);
  return (*compiled)->ok() ? Status::Ok() : BadField(field, (*compiled)->error());
}

}  // namespace

KeyFilter::KeyFilter() = default;
KeyFilter::~KeyFilter() = default;

Status KeyFilter::Compile(const v1::KeyFilter& message) {
  wanted_ = message;
  if (message.pattern().size() > kMaxPatternBytes || message.error().size() > kMaxPatternBytes) {
    return BadField(message.error().size() > kMaxPatternBytes ? "error" : "pattern",
                    "it is longer than " + std::to_string(kMaxPatternBytes) + " bytes");
  }
  for (const int state : message.states()) {
    if (state == v1::KEY_STATE_UNSPECIFIED || !v1::KeyState_IsValid(state)) {
      return BadField("states", "there is no state " + std::to_string(state));
    }
  }
  // Keys are bytes, so their pattern matches bytes.
  if (Status s = CompilePattern("pattern", message.pattern(), re2::RE2::Options(re2::RE2::Latin1),
                                &pattern_);
      !s.ok()) {
    return s;
  }
  re2::RE2::Options any_case;
  any_case.set_case_sensitive(false);
  return CompilePattern("error", re2::RE2::QuoteMeta(message.error()), any_case, &error_);
}

bool KeyFilter::MatchesState(const KeyInfo& key) const {
  return wanted_.states().empty() ||
         std::any_of(wanted_.states().begin(), wanted_.states().end(), [&key](int state) {
           switch (state) {
             case v1::KEY_STATE_QUEUED:
               return key.queued;
             case v1::KEY_STATE_PROCESSING:
               return key.processing;
             case v1::KEY_STATE_DELAYED:
               return key.delayed;
             case v1::KEY_STATE_FAILING:
               return key.failing;
             default:
               return key.quarantined;
           }
         });
}

bool KeyFilter::MatchesError(const KeyInfo& key) {
  if (error_ != nullptr &&
      (key.last_error.empty() || !re2::RE2::PartialMatch(Piece(key.last_error), *error_))) {
    return false;
  }
  if (!wanted_.has_error_form()) {
    return true;
  }
  return (key.failing || key.quarantined) &&
         ToUtf8(forms_.Of(key.last_error, key.key)) == wanted_.error_form();
}

bool KeyFilter::Matches(const KeyInfo& key) {
  const std::string_view bytes = key.key;
  return key.failures >= wanted_.min_failures() && MatchesState(key) &&
         (!wanted_.has_lane() || wanted_.lane() == key.lane) &&
         (!wanted_.has_shard() || (key.shard.has_value() && wanted_.shard() == *key.shard)) &&
         (!wanted_.has_group() || wanted_.group() == key.group) &&
         bytes.starts_with(wanted_.prefix()) &&
         (wanted_.substring().empty() ||
          bytes.find(wanted_.substring()) != std::string_view::npos) &&
         (pattern_ == nullptr || re2::RE2::PartialMatch(Piece(bytes), *pattern_)) &&
         MatchesError(key);
}

}  // namespace wq

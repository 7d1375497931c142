#include "server/page/page_sessions.h"

#include <absl/strings/escaping.h>
#include <sys/random.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "server/net/token_file.h"

namespace wq {
namespace {

constexpr std::string_view kCookie = "wq_session";
constexpr std::string_view kAttributes = "; Path=/; HttpOnly; SameSite=Strict";
constexpr size_t kRandomBytes = 32;

Status RandomId(std::string* id) {
  std::string bytes(kRandomBytes, '\0');
  // Up to 256 bytes are given at once, and no signal interrupts it.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Status::IOError("the system gives no random bytes");
  }
  *id = absl::BytesToHexString(bytes);
  return {};
}

// The values of the session's cookie: a browser may send several, of different paths.
std::vector<std::string_view> IdsIn(std::string_view cookies) {
  std::vector<std::string_view> ids;
  while (!cookies.empty()) {
    std::string_view pair = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookies.size(), pair.size() + 1));
    pair.remove_prefix(std::min(pair.size(), pair.find_first_not_of(" \t")));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == kCookie) {
      const std::string_view value = pair.substr(equals + 1);
      ids.push_back(value.substr(0, value.find_last_not_of(" \t") + 1));
    }
  }
  return ids;
}

bool IsOneOf(const std::string& id, const std::vector<std::string_view>& ids) {
  bool found = false;
  for (const std::string_view candidate : ids) {
    found |= EqualSecrets(candidate, id);
  }
  return found;
}

}  // namespace

Status PageSessions::Begin(CallGuard::Role role, std::string* set_cookie) {
  std::string id;
  if (Status s = RandomId(&id); !s.ok()) {
    return s;
  }
  *set_cookie = std::string(kCookie) + "=" + id + std::string(kAttributes);
  const int64_t now_us = options_.clock->SteadyUs();
  const MutexLock lock(mu_);
  const int64_t oldest_us = now_us - options_.max_age.count();
  sessions_.remove_if([oldest_us](const Session& s) { return s.begun_us <= oldest_us; });
  while (sessions_.size() >= options_.max_sessions) {
    sessions_.pop_front();
  }
  sessions_.push_back({std::move(id), role, now_us});
  return {};
}

CallGuard::Role PageSessions::RoleOf(std::string_view cookies) const {
  const std::vector<std::string_view> ids = IdsIn(cookies);
  if (ids.empty()) {
    return CallGuard::Role::kNone;
  }
  const int64_t oldest_us = options_.clock->SteadyUs() - options_.max_age.count();
  CallGuard::Role role = CallGuard::Role::kNone;
  const MutexLock lock(mu_);
  for (const Session& session : sessions_) {
    if (IsOneOf(session.id, ids) &&
        (session.begun_us > oldest_us || WQ_MUTANT(old_session_is_taken))) {
      role = std::max(role, session.role);
    }
  }
  return role;
}

void PageSessions::End(std::string_view cookies) {
  const std::vector<std::string_view> ids = IdsIn(cookies);
  const MutexLock lock(mu_);
  sessions_.remove_if([&ids](const Session& session) {
    return IsOneOf(session.id, ids) && !WQ_MUTANT(logged_out_session_goes_on);
  });
}

void PageSessions::EndAll() {
  const MutexLock lock(mu_);
  sessions_.clear();
}

std::string PageSessions::ForgetCookie() {
  return std::string(kCookie) + "=" + std::string(kAttributes) + "; Max-Age=0";
}

}  // namespace wq

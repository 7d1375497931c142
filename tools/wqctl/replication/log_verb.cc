#include "tools/wqctl/replication/log_verb.h"

#include <thread>

#include "tools/wqctl/text/duration.h"
#include "wq/keys.h"

namespace wqctl {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds{50};

}  // namespace

wq::Status PollUntil(std::chrono::microseconds timeout,
                     const std::function<wq::Status(bool* ready)>& poll) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    bool ready = false;
    wq::Status s = poll(&ready);
    const bool in_time = std::chrono::steady_clock::now() < deadline;
    // The log may be out of reach for a moment.
    const bool again = s.ok() || s.code() == wq::StatusCode::kIOError;
    if (ready || !again) return s;
    if (!in_time) return s.ok() ? wq::Status::TimedOut("") : s;
    std::this_thread::sleep_for(kPollInterval);
  }
}

std::string Shown(const std::string& text) { return wq::EscapeKey(text, 4096); }

void TakeUrl(const Words& words, size_t at, size_t fixed, const char* wanted, LogVerbArgs* args) {
  if (words.size() > fixed + 1) Unexpected(words[fixed + 1]);
  if (words.size() < fixed) Usage(wanted);
  if (words.size() == fixed + 1) args->log.url = words[at];
  if (args->log.url.empty()) {
    Usage("which log? Give the URL etcd://HOST:PORT[,HOST:PORT...]/PREFIX or set WQ_REPLICATE");
  }
  if (wq::Status s = CheckLogArgs(args->log); !s.ok()) Usage(s.message());
}

void AddTimeout(VerbParser* parser, const std::string& what, LogVerbArgs* args) {
  AddDuration(parser, "--timeout",
              "How long to wait " + what + "; default " + FormatDuration(args->timeout),
              &args->timeout);
}

}  // namespace wqctl

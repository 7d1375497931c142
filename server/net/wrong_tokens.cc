#include "server/net/wrong_tokens.h"

#include <utility>

namespace wq {
namespace {

constexpr int64_t kMinuteUs = 60'000'000;

// A unix socket's peer is its process.
std::string HostOf(std::string_view peer) {
  return std::string(peer.starts_with("ip") ? peer.substr(0, peer.rfind(':')) : peer);
}

}  // namespace

WrongTokens::Host* WrongTokens::FindHost(std::string* name, int64_t now_us) {
  if (!hosts_.contains(*name) && hosts_.size() >= kMaxHosts) {
    std::erase_if(hosts_, [now_us](const auto& host) {
      return now_us - host.second.reported_at_us >= kMinuteUs;
    });
    if (hosts_.size() >= kMaxHosts) {
      *name = "others";
    }
  }
  return &hosts_.try_emplace(*name, Host{.reported_at_us = now_us - kMinuteUs}).first->second;
}

void WrongTokens::Note(std::string_view peer) {
  Report report{.host = HostOf(peer)};
  {
    const MutexLock lock(mu_);
    ++total_;
    const int64_t now_us = options_.clock->SteadyUs();
    Host* const host = FindHost(&report.host, now_us);
    ++host->unreported;
    if (now_us - host->reported_at_us < kMinuteUs) {
      return;
    }
    host->reported_at_us = now_us;
    report.count = std::exchange(host->unreported, 0);
  }
  if (options_.report != nullptr) {
    options_.report(report);
  }
}

uint64_t WrongTokens::total() const {
  const MutexLock lock(mu_);
  return total_;
}

}  // namespace wq

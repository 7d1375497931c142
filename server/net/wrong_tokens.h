// WrongTokens: counts the wrong tokens that clients show, and reports them: at most once a minute
// for each host.
//
//   WrongTokens wrong({.clock = clock, .report = [](const auto& r) { … r.host, r.count … }});
//   wrong.Note("ipv4:192.0.2.7:4711");
//
// The first one of a host is reported at once, with the count 1. Those within the next minute are
// counted, and are in the count of the next report, unless the host is silent for so long that it
// is forgotten: total() has them in any case. Of more than kMaxHosts hosts in a minute the further
// ones are reported as one host, "others". Threading: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "wq/clock.h"

namespace wq {

class WrongTokens {
 public:
  static constexpr size_t kMaxHosts = 1000;

  struct Report {
    std::string host;    // "ipv4:192.0.2.7": a peer without its port.
    uint64_t count = 0;  // Since the report before.
  };
  struct Options {
    const Clock* clock = Clock::System();
    // Called without a lock. nullptr: nothing is reported.
    std::function<void(const Report& report)> report = nullptr;
  };
  explicit WrongTokens(Options options) : options_(std::move(options)) {}

  // `peer`: see PeerName.
  void Note(std::string_view peer) WQ_EXCLUDES(mu_);
  // All since the construction.
  uint64_t total() const WQ_EXCLUDES(mu_);

 private:
  struct Host {
    int64_t reported_at_us = 0;
    uint64_t unreported = 0;
  };
  Host* FindHost(std::string* name, int64_t now_us) WQ_REQUIRES(mu_);

  const Options options_;
  mutable Mutex mu_;
  std::map<std::string, Host> hosts_ WQ_GUARDED_BY(mu_);
  uint64_t total_ WQ_GUARDED_BY(mu_) = 0;
};

}  // namespace wq

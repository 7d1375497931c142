#include "tests/failover/oracle.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace wq::failover {
namespace {

constexpr size_t kMostWrong = 20;

}  // namespace

int64_t Oracle::Seen::NextHandOutUs(uint64_t epoch) const {
  int64_t first_us = INT64_MAX;
  for (auto it = epochs.upper_bound(epoch); it != epochs.end(); ++it) {
    first_us = std::min(first_us, it->second.first_after_us);
  }
  return first_us;
}

void Oracle::Take(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string owner;
  std::string what;
  std::string key;
  uint64_t epoch = 0;
  words >> owner >> what;
  const MutexLock lock(mu_);
  if (what == "a" && words >> key) {
    Key& known = keys_[key];
    known.acknowledged = true;
    ++seen_.acknowledged;
    seen_.unseen += known.handed_out == 0 ? 1 : 0;
  } else if (int64_t before_us = 0, after_us = 0;
             what == "g" && words >> epoch >> before_us >> after_us >> key) {
    HandOut(owner, epoch, before_us, after_us, key);
  } else if (what == "b" && words >> epoch) {
    Begin(owner, epoch);
  } else if (what == "d" && words >> epoch >> key) {
    if (keys_[key].handed_out < epoch) Wrong("done without a hand-out: " + std::string(line));
  } else if (what == "f" && words >> epoch >> key) {
    keys_[key].flushed = epoch;
    ++seen_.flushed;
    if (keys_[key].handed_out > epoch) {
      Wrong("handed out in epoch " + std::to_string(keys_[key].handed_out) +
            ", and then its Done was flushed: " + std::string(line));
    }
  } else if (std::pair<uint64_t, uint64_t> read;
             what == "r" && words >> epoch >> read.first >> read.second) {
    Begin(owner, epoch);
    seen_.epochs[epoch].cursor_read = read;
  } else if (uint64_t n = 0; what == "c" && words >> epoch >> n) {
    Begin(owner, epoch);
    seen_.epochs[epoch].cursor = {epoch, n};
  } else if (what == "m") {
    ++seen_.modes;
  } else if (what != "e") {
    Wrong(std::string(line));
  }
  cv_.NotifyAll();
}

void Oracle::Begin(const std::string& owner, uint64_t epoch) {
  Epoch& known = seen_.epochs[epoch];
  if (!known.owner.empty() && known.owner != owner) {
    Wrong("epoch " + std::to_string(epoch) + " is owned by " + known.owner + " and by " + owner);
  }
  known.owner = owner;
}

void Oracle::HandOut(const std::string& owner, uint64_t epoch, int64_t before_us, int64_t after_us,
                     const std::string& key) {
  Begin(owner, epoch);
  Epoch& known_epoch = seen_.epochs[epoch];
  known_epoch.first_after_us = std::min(known_epoch.first_after_us, after_us);
  known_epoch.last_before_us = std::max(known_epoch.last_before_us, before_us);
  ++known_epoch.hand_outs;
  ++seen_.hand_outs;
  Key& known = keys_[key];
  if (known.handed_out == epoch) {
    Wrong("epoch " + std::to_string(epoch) + " hands out " + key + " twice");
  }
  if (known.flushed != 0 && known.flushed < epoch) {
    Wrong("epoch " + std::to_string(epoch) + " hands out " + key + ", whose Done epoch " +
          std::to_string(known.flushed) + " has flushed");
  }
  seen_.repeated += known.handed_out != 0 ? 1 : 0;
  seen_.unseen -= known.acknowledged && known.handed_out == 0 ? 1 : 0;
  known.handed_out = std::max(known.handed_out, epoch);
}

void Oracle::Wrong(std::string what) {
  if (wrong_.size() < kMostWrong) wrong_.push_back(std::move(what));
}

bool Oracle::Await(std::chrono::milliseconds patience,
                   const std::function<bool(const Seen&)>& true_now) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mu_);
  while (!true_now(seen_)) {
    if (std::chrono::steady_clock::now() >= until) {
      return false;
    }
    cv_.WaitUntil(mu_, until);
  }
  return true;
}

Oracle::Seen Oracle::Now() const {
  const MutexLock lock(mu_);
  return seen_;
}

std::vector<std::string> Oracle::Verdict() const {
  const MutexLock lock(mu_);
  std::vector<std::string> wrong = wrong_;
  int64_t first_of_later_us = INT64_MAX;
  for (auto it = seen_.epochs.rbegin(); it != seen_.epochs.rend(); ++it) {
    const Epoch& epoch = it->second;
    if (epoch.hand_outs > 0 && epoch.last_before_us > first_of_later_us) {
      wrong.push_back("epoch " + std::to_string(it->first) + " of " + epoch.owner +
                      " hands out at " + std::to_string(epoch.last_before_us) +
                      " us, and a later one since " + std::to_string(first_of_later_us) + " us");
    }
    first_of_later_us = std::min(first_of_later_us, epoch.first_after_us);
  }
  std::pair<uint64_t, uint64_t> flushed;
  for (const auto& [number, epoch] : seen_.epochs) {
    if (epoch.cursor_read.has_value() && *epoch.cursor_read < flushed) {
      wrong.push_back("epoch " + std::to_string(number) + " begins with the cursor " +
                      std::to_string(epoch.cursor_read->first) + " " +
                      std::to_string(epoch.cursor_read->second) + ", and " +
                      std::to_string(flushed.first) + " " + std::to_string(flushed.second) +
                      " was flushed");
    }
    flushed = std::max(flushed, epoch.cursor);
  }
  return wrong;
}

std::set<std::string> Oracle::Unseen() const {
  const MutexLock lock(mu_);
  std::set<std::string> unseen;
  for (const auto& [key, known] : keys_) {
    if (known.acknowledged && known.handed_out == 0) unseen.insert(key);
  }
  return unseen;
}

}  // namespace wq::failover

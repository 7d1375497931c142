// GiveBacks: how often the keys of a queue were given back since they were last answered. Bounded:
// beyond kMaxKeys, the count of another key is dropped for each new one.
// Threading: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/mutex.h"

namespace wq {

class GiveBacks {
 public:
  void Count(const std::string& key) WQ_EXCLUDES(mu_);
  void Clear(const std::string& key) WQ_EXCLUDES(mu_);
  uint64_t Of(const std::string& key) const WQ_EXCLUDES(mu_);

 private:
  static constexpr size_t kMaxKeys = size_t{1} << 16;
  mutable Mutex mu_;
  std::map<std::string, uint64_t> counts_ WQ_GUARDED_BY(mu_);
};

}  // namespace wq

#include "server/browse/key_source.h"

#include "wq/queue.h"

namespace wq {
namespace {

class LiveSource final : public KeySource {
 public:
  explicit LiveSource(const Queue* queue) : queue_(queue) {}

  Status Scan(const KeyVisitor& visit) const override { return queue_->Scan(visit); }
  Status Inspect(std::string_view key,
                 const std::function<void(const KeyInfo&)>& visit) const override {
    return queue_->Inspect(key, visit);
  }

 private:
  const Queue* const queue_;
};

}  // namespace

Status ScanFor(const Caller& caller, const KeySource& keys, const KeyVisitor& visit) {
  size_t visited = 0;
  bool gone = false;
  Status s = keys.Scan([&](const KeyInfo& key) {
    gone = ++visited % kKeysBetweenAsks == 0 && caller.IsGone();
    return !gone && visit(key);
  });
  return s.ok() && gone ? ClientIsGone() : s;
}

std::unique_ptr<KeySource> LiveKeys(const Queue* queue) {
  return std::make_unique<LiveSource>(queue);
}

}  // namespace wq

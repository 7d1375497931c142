#include "server/browse/key_source.h"

#include "wq/queue.h"
#include "wq/store.h"

namespace wq {

Status ServedKeys::Check(std::string_view queue) const {
  Queue* found = nullptr;
  return access_->Find(queue, false, &found);
}

Status ServedKeys::Scan(std::string_view queue, const KeyVisitor& visit) const {
  Queue* found = nullptr;
  Status s = access_->Find(queue, false, &found);
  return s.ok() ? found->Scan(visit) : s;
}

Status ServedKeys::Inspect(std::string_view queue, std::string_view key,
                           const std::function<void(const KeyInfo&)>& visit) const {
  Queue* found = nullptr;
  Status s = access_->Find(queue, false, &found);
  return s.ok() ? found->Inspect(key, visit) : s;
}

std::vector<std::string> ServedKeys::Names() const {
  std::vector<std::string> names = access_->store().QueueNames();
  std::erase_if(names,
                [this](const std::string& name) { return access_->FindOpen(name) == nullptr; });
  return names;
}

Status ScanFor(const Caller& caller, const std::function<Status(const KeyVisitor&)>& scan,
               const KeyVisitor& visit) {
  size_t visited = 0;
  bool gone = false;
  Status s = scan([&](const KeyInfo& key) {
    gone = ++visited % kKeysBetweenAsks == 0 && caller.IsGone();
    return !gone && visit(key);
  });
  return s.ok() && gone ? ClientIsGone() : s;
}

}  // namespace wq

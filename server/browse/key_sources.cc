#include "server/browse/key_sources.h"

#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

class ServedSources final : public KeySources {
 public:
  explicit ServedSources(StoreAccess* access) : access_(access) {}

  Status Find(std::string_view queue, std::unique_ptr<KeySource>* keys) const override {
    Queue* found = nullptr;
    if (Status s = access_->Find(queue, false, &found); !s.ok()) {
      return s;
    }
    *keys = LiveKeys(found);
    return {};
  }
  std::vector<std::string> Names() const override {
    std::vector<std::string> names = access_->store().QueueNames();
    std::erase_if(names,
                  [this](const std::string& name) { return access_->FindOpen(name) == nullptr; });
    return names;
  }

 private:
  StoreAccess* const access_;
};

}  // namespace

std::unique_ptr<KeySources> ServedKeys(StoreAccess* access) {
  return std::make_unique<ServedSources>(access);
}

}  // namespace wq

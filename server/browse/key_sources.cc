#include "server/browse/key_sources.h"

#include <algorithm>
#include <utility>

#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/store.h"
#include "wq/store_view.h"

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

class StoredSources final : public KeySources {
 public:
  explicit StoredSources(const StoreView* view) : view_(view) {}

  Status Find(std::string_view queue, std::unique_ptr<KeySource>* keys) const override {
    const std::vector<std::string> names = view_->QueueNames();
    if (!std::binary_search(names.begin(), names.end(), queue)) {
      return Status::NotFound("there is no queue '" + EscapeKey(queue) + "'");
    }
    *keys = StoredKeys(view_, std::string(queue));
    return {};
  }
  std::vector<std::string> Names() const override { return view_->QueueNames(); }

 private:
  const StoreView* const view_;
};

}  // namespace

std::unique_ptr<KeySources> ServedKeys(StoreAccess* access) {
  return std::make_unique<ServedSources>(access);
}

std::unique_ptr<KeySources> StoredKeys(const StoreView* view) {
  return std::make_unique<StoredSources>(view);
}

}  // namespace wq

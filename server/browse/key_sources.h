// KeySources: the queues of a store whose keys can be searched.
//
// Threading: thread-safe. Lifetime: borrows what it is made of.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/store_access.h"
#include "server/browse/key_source.h"
#include "wq/status.h"

namespace wq {

class KeySources {
 public:
  virtual ~KeySources() = default;

  // As StoreAccess::Find.
  virtual Status Find(std::string_view queue, std::unique_ptr<KeySource>* keys) const = 0;
  // The queues that can be read without opening one.
  virtual std::vector<std::string> Names() const = 0;
};

std::unique_ptr<KeySources> ServedKeys(StoreAccess* access);

}  // namespace wq

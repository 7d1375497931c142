// Gateway: the keys of an etcd, over its HTTP/JSON gateway.
//
//   Gateway etcd("127.0.0.1:2379");
//   KeyRange read;
//   wq::Status s = etcd.Read("/app/", /*prefix=*/true, &read);
//   s = etcd.Watch("/app/", read.revision + 1, stop, [](const Events& events) { … });
//
// Threading: a Gateway is used by one thread at a time. Blocks: for a request; Watch until it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace etcd_mirror {

struct KeyRange {
  struct Entry {
    std::string key;
    std::string value;
  };
  int64_t revision = 0;  // At which it was read: of the whole etcd.
  std::vector<Entry> entries;
};

// What has changed up to a revision.
struct Events {
  int64_t revision = 0;
  std::vector<std::string> keys;
};

class Gateway {
 public:
  explicit Gateway(std::string address) : address_(std::move(address)) {}

  // Reads one key, or all keys with this prefix. IOError: etcd cannot be reached, or refuses.
  wq::Status Read(std::string_view key, bool prefix, KeyRange* range);

  // Calls `take` with what changes below the prefix from `revision` on, in order, until it returns
  // an error, which Watch then returns.
  //   NotFound  the revision was compacted: the changes since then are not known any more.
  //   IOError   the connection has ended; go on behind the last events. Also after five seconds in
  //             which nothing changed, so that a broken connection is noticed.
  wq::Status Watch(std::string_view prefix, int64_t revision,
                   const std::function<wq::Status(const Events&)>& take);

 private:
  const std::string address_;
};

}  // namespace etcd_mirror

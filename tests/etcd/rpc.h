// Single requests to one member of etcd, without TLS and users, for what a log does not do itself.
// Each returns "", or why it failed.
//
// Threading: functions. Lifetime: the caller's. A crash: does not concern it.
#pragma once

#include <cstdint>
#include <string>

namespace wq {

std::string PutEtcdKey(const std::string& endpoint, const std::string& key,
                       const std::string& value);
std::string DeleteEtcdKey(const std::string& endpoint, const std::string& key);
// Deletes the history before the present revision.
std::string CompactEtcd(const std::string& endpoint, int64_t* revision);
// Makes root and "user", who may use the keys below "/wq/", and enables authentication.
std::string MakeEtcdUsers(const std::string& endpoint, const std::string& root_password);

}  // namespace wq

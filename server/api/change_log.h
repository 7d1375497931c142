// A line for each call that changes something: who has changed what.
//
//   LogChanges([](const std::string& line) { … }, &table);
//
//   Admin.Change of unix:4711 (operator): queue: "pods" kind: DELETE keys: "default/web-1": Ok
//   Queue.Add of ipv4:192.0.2.7:4711 (operator, token /etc/wq/token): queue: "pods" …: NotFound: …
//
// A line is made after the call, of its request with the first kMaxLoggedKeys keys, in printable
// ASCII. The calls are those of Admin, without Flush, and Queue.Add; one that changes nothing (a
// dry run, no keys) has no line. Threading: thread-safe, as `log` must be.
#pragma once

#include <functional>
#include <string>

#include "server/api/method.h"

namespace wq {

inline constexpr int kMaxLoggedKeys = 10;

// Makes the calls of the table pass their lines to `log`, which must not block.
void LogChanges(const std::function<void(const std::string& line)>& log, MethodTable* table);

}  // namespace wq

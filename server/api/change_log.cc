#include "server/api/change_log.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "wq/keys.h"

namespace wq {
namespace {

constexpr size_t kMaxRequestText = 4096;

// "Admin.Change" of "/wq.v1.Admin/Change".
std::string NameOf(const Method& method) {
  std::string name = method.path.substr(method.path.rfind('.') + 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

bool IsLogged(const std::string& path) {
  return path == "/wq.v1.Queue/Add" ||
         (path.starts_with("/wq.v1.Admin/") && path != "/wq.v1.Admin/Flush");
}

// Without keys a call asks whether the queue takes changes at all.
bool ChangesNothing(const Message& request) {
  const auto* const keys = request.GetDescriptor()->FindFieldByName("keys");
  const auto* const dry_run = request.GetDescriptor()->FindFieldByName("dry_run");
  return (keys != nullptr && request.GetReflection()->FieldSize(request, keys) == 0) ||
         (dry_run != nullptr && request.GetReflection()->GetBool(request, dry_run));
}

// Protobuf's text format escapes what is not printable.
std::string TextOf(const Message& request) {
  const std::unique_ptr<Message> shown(request.New());
  shown->CopyFrom(request);
  int left_out = 0;
  if (const auto* const keys = request.GetDescriptor()->FindFieldByName("keys"); keys != nullptr) {
    const auto* const reflection = shown->GetReflection();
    for (; reflection->FieldSize(*shown, keys) > kMaxLoggedKeys; ++left_out) {
      reflection->RemoveLast(shown.get(), keys);
    }
  }
  std::string text = shown->ShortDebugString();
  if (text.size() > kMaxRequestText) {
    text.resize(kMaxRequestText);
    text += " …";
  }
  return left_out == 0 ? text : text + " and " + std::to_string(left_out) + " keys more";
}

std::string LineOf(const Method& method, const Caller& caller, const Message& request,
                   const Status& result) {
  std::string line = NameOf(method) + " of " + caller.peer + " (" + std::string(caller.role);
  if (!caller.token.empty()) {
    line += ", token " + EscapeKey(caller.token, 4096);
  }
  return line + "): " + TextOf(request) + ": " + result.ToString();
}

}  // namespace

void LogChanges(const std::function<void(const std::string& line)>& log, MethodTable* table) {
  table->ForEach([&log](Method* method) {
    if (!method->changes || !IsLogged(method->path)) {
      return;
    }
    // `method` stays where it is in the table.
    method->call = [log, method, call = std::move(method->call)](
                       const Caller& caller, const Message& request, Message* response) {
      Status s = call(caller, request, response);
      if (!ChangesNothing(request)) {
        log(LineOf(*method, caller, request, s));
      }
      return s;
    };
  });
}

}  // namespace wq

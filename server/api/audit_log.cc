#include "server/api/audit_log.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "wq/clock.h"
#include "wq/keys.h"

namespace wq {
namespace {

using Json = nlohmann::ordered_json;

std::string Utc(int64_t wall_us) {
  const auto seconds = static_cast<time_t>(wall_us / 1'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const size_t size = strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + size, text.size() - size, ".%06dZ",
                static_cast<int>(wall_us % 1'000'000));
  return text.data();
}

// "Admin.Change" of "/wq.v1.Admin/Change".
std::string NameOf(const Method& method) {
  std::string name = method.path.substr(method.path.rfind('.') + 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

Json JsonOf(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) {
    return Json::object();
  }
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Null: a request of this type has no keys.
const google::protobuf::FieldDescriptor* KeysOf(const Message& request) {
  return request.GetDescriptor()->FindFieldByName("keys");
}

// A dry run changes nothing.
bool IsDryRun(const Message& request) {
  const auto* const field = request.GetDescriptor()->FindFieldByName("dry_run");
  return field != nullptr && request.GetReflection()->GetBool(request, field);
}

bool HasNoKeys(const Message& request) {
  const auto* const field = KeysOf(request);
  return field != nullptr && request.GetReflection()->FieldSize(request, field) == 0;
}

// The bytes in a message, so that a person can read them.
void EscapeBytes(const Message& message, Json* json) {
  const auto* const descriptor = message.GetDescriptor();
  const auto* const reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* const field = descriptor->field(i);
    if (field->type() == google::protobuf::FieldDescriptor::TYPE_BYTES && !field->is_repeated() &&
        reflection->HasField(message, field)) {
      (*json)[field->name()] = EscapeKey(reflection->GetString(message, field));
    }
  }
}

void EscapeFilter(const Message& request, Json* json) {
  const auto* const field = request.GetDescriptor()->FindFieldByName("filter");
  if (field != nullptr && request.GetReflection()->HasField(request, field)) {
    EscapeBytes(request.GetReflection()->GetMessage(request, field), &(*json)["filter"]);
  }
}

// The request, with keys that a person can read.
Json RequestJson(const Message& request) {
  const auto* const field = KeysOf(request);
  if (field == nullptr) {
    Json json = JsonOf(request);
    EscapeBytes(request, &json);
    EscapeFilter(request, &json);
    return json;
  }
  const auto* const reflection = request.GetReflection();
  const std::unique_ptr<Message> without(request.New());
  without->CopyFrom(request);
  reflection->ClearField(without.get(), field);
  Json json = JsonOf(*without);
  const int count = reflection->FieldSize(request, field);
  Json& keys = json["keys"] = Json::array();
  for (int i = 0; i < std::min(count, AuditLog::kMaxAuditedKeys); ++i) {
    keys.push_back(EscapeKey(reflection->GetRepeatedString(request, field, i)));
  }
  json["key_count"] = count;
  return json;
}

}  // namespace

Status AuditLog::Open(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, kOwnerOnly));
  if (!file.valid()) {
    return IOErrorOf("cannot open the audit log", path, errno);
  }
  const MutexLock lock(mu_);
  path_ = path;
  file_ = std::move(file);
  return {};
}

Status AuditLog::Write() {
  const MutexLock lock(mu_);
  while (!lines_.empty()) {
    const ssize_t written = write(file_.get(), lines_.data(), lines_.size());
    if (written < 0 && errno != EINTR) {
      return IOErrorOf("cannot write the audit log", path_, errno);
    }
    lines_.erase(0, static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return {};
}

void AuditLog::Record(const Method& method, const Caller& caller, const std::string& at,
                      const Message& request, const Status& status, const Message& response) {
  Json line = {{"at", at},
               {"peer", caller.peer},
               {"call", NameOf(method)},
               {"request", RequestJson(request)},
               {"status", StatusCodeName(status.code())}};
  if (status.ok()) {
    line["response"] = JsonOf(response);
  } else {
    line["message"] = status.message();
  }
  {
    const MutexLock lock(mu_);
    lines_ += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  static_cast<void>(Write());  // Otherwise before the next call.
}

void AuditLog::Audit(MethodTable* table) {
  table->ForEach([this](Method* method) {
    if (!method->audited) {
      return;
    }
    // `method` stays where it is in the table.
    method->call = [this, method, call = std::move(method->call)](
                       const Caller& caller, const Message& request, Message* response) {
      if (Status s = Write(); !s.ok()) {
        return s;
      }
      const std::string at = Utc(Clock::System()->WallUs());
      Status s = call(caller, request, response);
      if (s.ok() && HasNoKeys(request)) {  // Whether the queue takes changes at all.
        return s;
      }
      if (!s.ok() || !IsDryRun(request)) {
        Record(*method, caller, at, request, s, *response);
      }
      return s;
    };
  });
}

}  // namespace wq

#include "server/api/audit_log.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
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

// Without keys a call asks whether the queue takes changes at all.
bool ChangesNothing(const Message& request) { return HasNoKeys(request) || IsDryRun(request); }

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

std::string LineOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Keeps from the process the signals of a write that fails, whose default is to end it: SIGPIPE if
// nothing reads a FIFO, SIGXFSZ beyond the limit of a file's size.
class WriteSignals {
 public:
  WriteSignals() {
    sigemptyset(&ours_);
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) == 0) {
        sigaddset(&ours_, signal);
      }
    }
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~WriteSignals() {
    const timespec no_wait{};
    while (sigtimedwait(&ours_, nullptr, &no_wait) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WriteSignals(const WriteSignals&) = delete;
  WriteSignals& operator=(const WriteSignals&) = delete;

 private:
  sigset_t ours_{};
  sigset_t before_{};
};

off_t SizeOf(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
}

// Takes the last bytes of the file back, unless another process has written too. False: they stay.
bool TakeBack(int fd, off_t size_before, size_t written) {
  const off_t size = SizeOf(fd);
  return size_before >= 0 && size == size_before + static_cast<off_t>(written) &&
         ftruncate(fd, size_before) == 0;
}

std::string TextOf(int error) {
  return error == ENXIO    ? "; no process reads it: start its reader first"
         : error == EAGAIN ? "; its reader does not keep up"
                           : "; free space there, or name a file that can be written";
}

}  // namespace

// Neither opening nor writing may wait for the reader of a FIFO: O_NONBLOCK.
Status AuditLog::Open(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  File file{.path = path, .fd = FileDescriptor(open(path.c_str(), kFlags, kOwnerOnly))};
  if (!file.fd.valid()) {
    const int error = errno;
    Status s = IOErrorOf("cannot open the audit log", path, error);
    return Status(s.code(), s.message() + TextOf(error));
  }
  const Json opened = {
      {"at", Utc(Clock::System()->WallUs())}, {"call", "AuditLog.Open"}, {"process", getpid()}};
  if (Status s = Append(LineOf(opened), &file); !s.ok()) {
    return s;
  }
  const MutexLock lock(mu_);
  file_ = std::move(file);
  return {};
}

Status AuditLog::Append(const std::string& line, File* file) {
  const WriteSignals signals;
  const std::string text = file->torn ? "\n" + line : line;
  const off_t size_before = SizeOf(file->fd.get());
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file->fd.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      const int error = errno;
      file->torn = file->torn || (written > 0 && !TakeBack(file->fd.get(), size_before, written));
      Status s = IOErrorOf("cannot write the audit log", file->path, error);
      return Status(s.code(), s.message() + TextOf(error));
    }
    written += static_cast<size_t>(n);
  }
  file->torn = false;
  return {};
}

Status AuditLog::WriteKept() {
  while (!kept_.empty()) {
    if (Status s = Append(kept_.front(), &file_); !s.ok()) {
      return s;
    }
    kept_.pop_front();
  }
  return {};
}

Status AuditLog::Begin(const std::string& line) {
  const MutexLock lock(mu_);
  Status s = WriteKept();
  if (s.ok() && !line.empty()) {
    s = Append(line, &file_);
  }
  return s.ok() ? s : Status(s.code(), "nothing is changed: " + s.message());
}

void AuditLog::Finish(std::string line) {
  const MutexLock lock(mu_);
  kept_.push_back(std::move(line));
  static_cast<void>(WriteKept());  // Otherwise before the next call.
}

void AuditLog::NoteWrongTokens(const std::string& host, uint64_t count) {
  const Json line = {{"at", Utc(Clock::System()->WallUs())},
                     {"peer", host},
                     {"call", "Token.Wrong"},
                     {"count", count}};
  static_cast<void>(Begin(LineOf(line)));
}

Status AuditLog::AuditCall(const Method& method, const Caller& caller, const Message& request,
                           Message* response, const std::function<Status()>& call) {
  Json line = {{"at", Utc(Clock::System()->WallUs())}, {"peer", caller.peer}};
  line["role"] = caller.role;
  if (!caller.token.empty()) {
    line["token"] = caller.token;
  }
  line["call"] = NameOf(method);
  line["request"] = RequestJson(request);
  const bool changes = !ChangesNothing(request);
  if (Status s = Begin(changes ? LineOf(line) : ""); !s.ok()) {
    return s;
  }
  Status s = call();
  if (s.ok() && (!changes || method.audited == Method::Audited::kBefore)) {
    return s;
  }
  line["status"] = StatusCodeName(s.code());
  if (s.ok()) {
    line["response"] = JsonOf(*response);
  } else {
    line["message"] = s.message();
  }
  Finish(LineOf(line));
  return s;
}

void AuditLog::Audit(MethodTable* table) {
  table->ForEach([this](Method* method) {
    if (method->audited == Method::Audited::kNo) {
      return;
    }
    method->may_wait = [](const Message&) { return true; };  // For the file.
    // `method` stays where it is in the table.
    method->call = [this, method, call = std::move(method->call)](
                       const Caller& caller, const Message& request, Message* response) {
      return AuditCall(*method, caller, request, response,
                       [&] { return call(caller, request, response); });
    };
  });
}

}  // namespace wq

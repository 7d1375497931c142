#include "tools/wqctl/text/dump_line.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/json_fields.h"

namespace wqctl {
namespace {

using Value = std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string>;
using Fields = std::map<std::string, Value, std::less<>>;

// Collects the fields of one flat object. Ends at the first thing that has no place in one, so that
// depth costs nothing.
class FlatObject final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Set(nullptr); }
  bool boolean(bool value) override { return Set(value); }
  bool number_integer(int64_t value) override { return Set(value); }
  bool number_unsigned(uint64_t value) override { return Set(value); }
  bool number_float(double value, const std::string&) override { return Set(value); }
  bool string(std::string& value) override { return Set(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return Refuse("it is not JSON"); }
  bool start_object(size_t) override {
    return std::exchange(open_, true) ? Refuse("a value is an object, not a plain one") : true;
  }
  bool key(std::string& name) override {
    if (fields_.contains(name)) return Refuse("\"" + wq::EscapeKey(name, 40) + "\" is there twice");
    name_ = std::move(name);
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(size_t) override {
    return Refuse(open_ ? "a value is an array, not a plain one"
                        : "it is a JSON array; one object a line is needed: dump -o jsonl");
  }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return Refuse("it is not JSON at byte " + std::to_string(position));
  }

  Fields& fields() { return fields_; }
  const std::string& error() const { return error_; }

 private:
  bool Set(Value value) {
    if (!open_) return Refuse("it is no JSON object");
    fields_.emplace(std::move(name_), std::move(value));
    return true;
  }
  bool Refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
    return false;
  }

  bool open_ = false;
  std::string name_;
  Fields fields_;
  std::string error_;
};

// Takes fields out, by name and type, and keeps the first error.
class Taker {
 public:
  explicit Taker(Fields* fields) : fields_(*fields) {}

  bool Has(std::string_view name) const { return fields_.contains(name); }

  // Each leaves *target alone where there is no such field.
  void Text(std::string_view name, std::string* target) {
    Take(name, "a string", [target](const Value& value) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr) *target = *text;
      return text != nullptr;
    });
  }
  // As SetBytes wrote it; keys in hexadecimal too.
  void Bytes(const std::string& name, std::string* target) {
    Text(name, target);
    Decoded(name + "_base64", "base64", wq::FromBase64, target);
    Decoded(name + "_hex", "hexadecimal", FromHex, target);
  }
  template <typename T>
  void Decoded(std::string_view name, const std::string& what,
               std::optional<T> (*decode)(std::string_view), T* target) {
    Take(name, what, [=](const Value& value) {
      const auto* text = std::get_if<std::string>(&value);
      std::optional<T> decoded = text == nullptr ? std::nullopt : decode(*text);
      if (!decoded) return false;
      *target = *std::move(decoded);
      return true;
    });
  }
  template <typename T>
  void Number(std::string_view name, T* target) {
    Take(name, "a whole number", [target](const Value& value) {
      const auto* number = std::get_if<uint64_t>(&value);
      const bool fits = number != nullptr && *number <= std::numeric_limits<T>::max();
      if (fits) *target = static_cast<T>(*number);
      return fits;
    });
  }
  void Bool(std::string_view name, bool* target) {
    Take(name, "true or false", [target](const Value& value) {
      const auto* flag = std::get_if<bool>(&value);
      if (flag != nullptr) *target = *flag;
      return flag != nullptr;
    });
  }
  void Time(std::string_view name, int64_t* target) {
    Decoded(name, "a time, such as 2026-01-31T12:00:00.000001Z", ParseTime, target);
  }
  void SecondsOf(std::string_view name, int64_t* target_us) {
    Take(name, "a number of seconds", [target_us](const Value& value) {
      double seconds = -1;
      if (const auto* number = std::get_if<double>(&value)) seconds = *number;
      if (const auto* number = std::get_if<uint64_t>(&value))
        seconds = static_cast<double>(*number);
      const bool fits = seconds >= 0 && seconds < 1e10;
      if (fits) *target_us = std::llround(seconds * 1e6);
      return fits;
    });
  }

  void Refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  // After all that may be there was taken.
  bool Finish(std::string* error) {
    if (!fields_.empty()) {
      Refuse("unknown field \"" + wq::EscapeKey(fields_.begin()->first, 40) + "\"");
    }
    *error = error_;
    return error_.empty();
  }

 private:
  template <typename Read>
  void Take(std::string_view name, const std::string& what, const Read& read) {
    const auto it = fields_.find(name);
    if (it == fields_.end()) return;
    if (!read(it->second)) Refuse("\"" + std::string(name) + "\" is not " + what);
    fields_.erase(it);
  }

  Fields& fields_;
  std::string error_;
};

wq::QueueInfo TakeQueue(Taker* taker) {
  wq::QueueInfo info;
  taker->Text("queue", &info.name);
  taker->Time("created_at", &info.created_at_us);
  taker->Number("sequence_high_water", &info.sequence_high_water);
  taker->Bytes("limiter_state", &info.limiter_state);
  taker->Bool("paused", &info.paused);
  taker->Time("paused_until", &info.paused_until_us);
  taker->Number("shards", &info.shards);
  return info;
}

DumpedCursor TakeCursor(Taker* taker) {
  DumpedCursor cursor;
  taker->Text("queue", &cursor.queue);
  taker->Text("name", &cursor.name);
  taker->Bytes("value", &cursor.value);
  return cursor;
}

DumpedEntry TakeEntry(Taker* taker) {
  DumpedEntry dumped;
  wq::Entry& entry = dumped.entry;
  if (!taker->Has("state")) taker->Refuse("there is no \"state\"");
  if (taker->Has("key") + taker->Has("key_base64") + taker->Has("key_hex") != 1) {
    taker->Refuse("there is not one of \"key\", \"key_base64\" and \"key_hex\"");
  }
  taker->Text("queue", &dumped.queue);
  taker->Bytes("key", &entry.key);
  taker->Decoded("state", "a state: pending, delayed, failing or quarantined", wq::ParseEntryState,
                 &entry.state);
  if (entry.state == wq::EntryState::kDelayed && !taker->Has("ready_at")) {
    taker->Refuse("there is no \"ready_at\"");
  }
  taker->Decoded("lane", "a lane: fast, slow or a 32-bit integer", wq::ParseLane, &entry.lane);
  taker->Bytes("group", &entry.group);
  uint32_t shard = 0;  // Follows from the group, and from how the queue is opened.
  taker->Number("shard", &shard);
  taker->Number("sequence", &entry.sequence);
  taker->Time("added_at", &entry.added_at_us);
  taker->Time("ready_at", &entry.ready_at_us);
  taker->SecondsOf("delay_seconds", &entry.delay_us);
  taker->Time("quarantined_at", &entry.quarantined_at_us);
  wq::FailureInfo failures;
  taker->Number("failures", &failures.count);
  taker->Bytes("last_error", &failures.last_error);
  taker->Time("first_failure_at", &failures.first_at_us);
  taker->Time("last_failure_at", &failures.last_at_us);
  if (failures != wq::FailureInfo{} || entry.state == wq::EntryState::kQuarantined) {
    entry.failures = std::move(failures);
  }
  return dumped;
}

}  // namespace

void AppendDumpLine(const wq::QueueInfo& info, std::string* out) {
  Json json;
  json["record"] = "queue";
  json["queue"] = info.name;
  json["created_at"] = FormatTime(info.created_at_us);
  json["sequence_high_water"] = info.sequence_high_water;
  json["paused"] = info.paused;
  if (info.paused_until_us != 0) json["paused_until"] = FormatTime(info.paused_until_us);
  json["shards"] = info.shards;
  if (!info.limiter_state.empty()) SetBytes("limiter_state", info.limiter_state, &json);
  out->append(json.dump());
}

void AppendDumpLine(const DumpedCursor& cursor, std::string* out) {
  Json json;
  json["record"] = "cursor";
  json["queue"] = cursor.queue;
  json["name"] = cursor.name;
  SetBytes("value", cursor.value, &json);
  out->append(json.dump());
}

void AppendDumpLine(std::string_view queue, const wq::Entry& entry, bool hex, std::string* out) {
  Json json;
  json["queue"] = queue;
  if (hex) {
    json["key_hex"] = ToHex(entry.key);
  } else {
    SetBytes("key", entry.key, &json);
  }
  SetState(entry, &json);
  out->append(json.dump());
}

bool ParseDumpLine(std::string_view line, DumpRecord* record, std::string* error) {
  if (line.size() > kMaxDumpLineBytes) {
    *error = "it is longer than " + std::to_string(kMaxDumpLineBytes) + " bytes";
    return false;
  }
  FlatObject object;
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &object)) {
    *error = object.error();
    return false;
  }
  Taker taker(&object.fields());
  if (!taker.Has("queue")) taker.Refuse("there is no \"queue\"");
  std::string kind = "entry";
  taker.Text("record", &kind);
  if (kind == "queue") {
    *record = TakeQueue(&taker);
  } else if (kind == "cursor") {
    *record = TakeCursor(&taker);
  } else if (kind == "entry") {
    *record = TakeEntry(&taker);
  } else {
    taker.Refuse("unknown kind of record \"" + wq::EscapeKey(kind, 40) + "\"");
    object.fields().clear();
  }
  return taker.Finish(error);
}

}  // namespace wqctl

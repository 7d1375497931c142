#include "tools/wqctl/text/dump_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/wqctl/text/bytes_text.h"
#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/json_fields.h"
#include "tools/wqctl/text/number.h"

namespace wqctl {
namespace {

using State = wq::EntryState;

// "-" is no reason. So a reason that is "-" itself, or backslashes and "-", has one more backslash.
bool LooksEscaped(std::string_view reason) {
  return reason.ends_with('-') && reason.find_first_not_of('\\') == reason.size() - 1;
}

// A line for each cause: its trace parent, a space and its reason; "-" for one that it has not. And
// if there are more, a line "+N".
std::string CausesText(const wq::Causes& causes) {
  const auto or_none = [](const std::string& text) { return text.empty() ? "-" : text; };
  std::string text;
  for (const wq::Cause& cause : causes.list) {
    text += or_none(cause.trace_parent) + (LooksEscaped(cause.reason) ? " \\" : " ") +
            or_none(cause.reason) + "\n";
  }
  if (causes.left_out > 0) text += "+" + std::to_string(causes.left_out) + "\n";
  return text;
}

std::optional<wq::Causes> ParseCauses(std::string_view text) {
  wq::Causes causes;
  const auto part = [](std::string_view bytes) {
    return bytes == "-" ? std::string_view() : bytes;
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (line.starts_with('+')) {
      const std::optional<uint64_t> left_out = ParseNumber<uint64_t>(line.substr(1));
      if (!left_out) return std::nullopt;
      causes.left_out = *left_out;
    } else if (space == line.npos) {
      return std::nullopt;
    } else {
      const std::string_view trace = part(line.substr(0, space));
      std::string_view reason = part(line.substr(space + 1));
      if (LooksEscaped(reason)) reason.remove_prefix(1);
      if (!wq::CheckCause(reason, trace).ok()) return std::nullopt;
      causes.list.push_back({std::string(reason), std::string(trace)});
    }
  }
  return causes;
}

// The fields of the kinds of records, in the order in which they are written. `io` is a
// Writer or a Reader. A Writer leaves out a field whose last argument is false; a Reader accepts
// every field anywhere and leaves the value of a missing one unchanged.

template <typename Io, typename Info>
void QueueFields(Io& io, Info& info) {
  io.Text("queue", info.name);
  io.Time("created_at", info.created_at_us);
  io.Number("sequence_high_water", info.sequence_high_water);
  io.Bool("paused", info.paused);
  io.Time("paused_until", info.paused_until_us, info.paused_until_us != 0);
  io.Time("paused_at", info.paused_at_us, info.pause_us != 0);
  io.Seconds("pause_seconds", info.pause_us, info.pause_us != 0);
  io.Number("shards", info.shards);
  io.Bytes("limiter_state", info.limiter_state, !info.limiter_state.empty());
}

template <typename Io, typename Cursor>
void CursorFields(Io& io, Cursor& cursor) {
  io.Text("queue", cursor.queue);
  io.Text("name", cursor.name);
  io.Bytes("value", cursor.value);
}

template <typename Io, typename Row>
void HashFields(Io& io, Row& row) {
  io.Hash("fingerprint", row.fingerprint);
  io.Hash("scope", row.scope);
}

template <typename Io, typename Source>
void SourceFields(Io& io, Source& dumped) {
  io.Text("queue", dumped.queue);
  io.Text("name", dumped.source.name);
  HashFields(io, dumped.source);
}

template <typename Io, typename Object>
void ObjectFields(Io& io, Object& dumped) {
  auto& row = dumped.object;
  io.Text("queue", dumped.queue);
  io.Text("source", row.source);
  io.Bytes("object", row.object);
  io.Bytes("version", row.version, !row.version.empty());
  io.Bytes("keys", row.keys, !row.keys.empty());
  io.Bytes("tombstone", row.tombstone, !row.tombstone.empty());
  HashFields(io, row);
}

// The fields besides the queue and the key. `failures` are entry.failures, or zeros.
template <typename Io, typename Entry, typename Failures>
void EntryFields(Io& io, Entry& entry, Failures& failures) {
  io.StateName("state", entry.state);
  const bool placed = entry.state != State::kFailing;
  const bool pending = entry.state == State::kPending;
  const bool delayed = entry.state == State::kDelayed;
  io.Lane("lane", entry.lane, placed);
  io.Bytes("group", entry.group, placed && !entry.group.empty());
  io.Derived("shard", entry.shard, placed);
  io.Number("sequence", entry.sequence, pending);
  io.Time("added_at", entry.added_at_us, pending || delayed);
  io.Time("ready_at", entry.ready_at_us, delayed);
  io.Seconds("delay_seconds", entry.delay_us, delayed);
  io.Bool("debounced", entry.debounced, delayed && entry.debounced);
  io.Bool("resync", entry.resync, delayed && entry.resync);
  io.Time("quarantined_at", entry.quarantined_at_us, entry.state == State::kQuarantined);
  io.Causes("causes", entry.causes, (pending || delayed) && !entry.causes.empty());
  io.Number("failures", failures.count);
  io.Bytes("last_error", failures.last_error, entry.failures.has_value());
  const bool failed = failures.count != 0 || failures.first_at_us != 0 || failures.last_at_us != 0;
  io.Time("first_failure_at", failures.first_at_us, failed);
  io.Time("last_failure_at", failures.last_at_us, failed);
}

class Writer {
 public:
  explicit Writer(Json* json) : json_(*json) {}

  void Text(const char* name, const std::string& text) { json_[name] = text; }
  void Bool(const char* name, bool value, bool present = true) { Set(name, value, present); }
  void Number(const char* name, uint64_t value, bool present = true) { Set(name, value, present); }
  void Hash(const char* name, uint64_t hash) {  // As a number jq would round it.
    json_[name] = absl::StrCat(absl::Hex(hash, absl::kZeroPad16));
  }
  void Derived(const char* name, const std::optional<uint32_t>& value, bool present) {
    if (value) Set(name, *value, present);
  }
  void Seconds(const char* name, int64_t us, bool present) {
    Set(name, wqctl::Seconds(us), present);
  }
  void Time(const char* name, int64_t us, bool present = true) {
    if (present) json_[name] = FormatTime(us);
  }
  void Bytes(const char* name, const std::string& bytes, bool present = true) {
    if (present) SetBytes(name, bytes, &json_);
  }
  void Causes(const char* name, const wq::Causes& causes, bool present) {
    if (present) json_[name] = CausesText(causes);
  }
  void StateName(const char* name, State state) { json_[name] = wq::EntryStateName(state); }
  void Lane(const char* name, wq::Lane lane, bool present) {
    if (present) json_[name] = wq::LaneName(lane);
  }

 private:
  template <typename T>
  void Set(const char* name, T value, bool present) {
    if (present) json_[name] = value;
  }

  Json& json_;
};

using Value = std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string>;
using Fields = std::map<std::string, Value, std::less<>>;

// Collects the fields of one flat object. Stops at the first nested value, so that deep nesting
// takes no stack.
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

// Takes fields out of `fields`, by name and type, and keeps the first error.
class Reader {
 public:
  explicit Reader(Fields* fields) : fields_(*fields) {}

  bool Has(std::string_view name) const { return fields_.contains(name); }

  void Text(std::string_view name, std::string& target) { Take(name, "a string", target); }
  void Bool(std::string_view name, bool& target, bool /*present*/ = true) {
    Take(name, "true or false", target);
  }
  // As SetBytes wrote it; keys in hexadecimal too.
  void Bytes(const std::string& name, std::string& target, bool /*present*/ = true) {
    Text(name, target);
    Decoded(name + "_base64", "base64", wq::FromBase64, target);
    Decoded(name + "_hex", "hexadecimal", FromHex, target);
  }
  template <typename T>
  void Number(std::string_view name, T& target, bool /*present*/ = true) {
    TakeBy(name, "a whole number", [&target](const Value& value) {
      const auto* number = std::get_if<uint64_t>(&value);
      const bool fits = number != nullptr && *number <= std::numeric_limits<T>::max();
      if (fits) target = static_cast<T>(*number);
      return fits;
    });
  }
  void Hash(std::string_view name, uint64_t& target) {
    TakeBy(name, "16 hexadecimal digits", [&target](const Value& value) {
      const auto* text = std::get_if<std::string>(&value);
      return text != nullptr && text->size() == 16 && absl::SimpleHexAtoi(*text, &target);
    });
  }
  // A value that is computed from other fields and the queue's options. Only its type is checked.
  void Derived(std::string_view name, const std::optional<uint32_t>&, bool /*present*/) {
    uint32_t unused = 0;
    Number(name, unused);
  }
  void Time(std::string_view name, int64_t& target, bool /*present*/ = true) {
    Decoded(name, "a time, such as 2026-01-31T12:00:00.000001Z", ParseTime, target);
  }
  void Seconds(std::string_view name, int64_t& target_us, bool /*present*/) {
    TakeBy(name, "a number of seconds", [&target_us](const Value& value) {
      const std::optional<double> seconds = RealOf(value);
      const bool fits = seconds && *seconds < 1e10;
      if (fits) target_us = std::llround(*seconds * 1e6);
      return fits;
    });
  }
  void StateName(std::string_view name, State& target) {
    Decoded(name, "a state: pending, delayed, failing or quarantined", wq::ParseEntryState, target);
  }
  void Causes(std::string_view name, wq::Causes& target, bool /*present*/) {
    Decoded(name, "a list of causes: lines \"TRACEPARENT REASON\", either may be -", ParseCauses,
            target);
  }
  void Lane(std::string_view name, wq::Lane& target, bool /*present*/) {
    Decoded(name, "a lane: fast, slow or a 32-bit integer", wq::ParseLane, target);
  }

  void Require(const std::string& name) {
    if (!Has(name)) Refuse("there is no \"" + name + "\"");
  }
  void RequireBytes(const std::string& name) {
    if (Has(name) + Has(name + "_base64") + Has(name + "_hex") == 1) return;
    Refuse("there is not one of \"" + name + "\", \"" + name + "_base64\" and \"" + name +
           "_hex\"");
  }
  void Refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  // Call it after all known fields were taken.
  bool Finish(std::string* error) {
    if (!fields_.empty()) {
      Refuse("unknown field \"" + wq::EscapeKey(fields_.begin()->first, 40) + "\"");
    }
    *error = error_;
    return error_.empty();
  }

 private:
  // nullopt: it is no number, or a negative one.
  static std::optional<double> RealOf(const Value& value) {
    if (const auto* whole = std::get_if<uint64_t>(&value)) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(&value);
    return real != nullptr && *real >= 0 ? std::optional(*real) : std::nullopt;
  }
  template <typename T>
  void Take(std::string_view name, const std::string& what, T& target) {
    TakeBy(name, what, [&target](const Value& value) {
      const auto* typed = std::get_if<T>(&value);
      if (typed != nullptr) target = *typed;
      return typed != nullptr;
    });
  }
  template <typename T>
  void Decoded(std::string_view name, const std::string& what,
               std::optional<T> (*decode)(std::string_view), T& target) {
    TakeBy(name, what, [decode, &target](const Value& value) {
      const auto* text = std::get_if<std::string>(&value);
      std::optional<T> decoded = text == nullptr ? std::nullopt : decode(*text);
      if (!decoded) return false;
      target = *std::move(decoded);
      return true;
    });
  }
  template <typename Read>
  void TakeBy(std::string_view name, const std::string& what, const Read& read) {
    const auto it = fields_.find(name);
    if (it == fields_.end()) return;
    if (!read(it->second)) Refuse("\"" + std::string(name) + "\" is not " + what);
    fields_.erase(it);
  }

  Fields& fields_;
  std::string error_;
};

DumpedEntry ReadEntry(Reader* reader) {
  DumpedEntry dumped;
  wq::Entry& entry = dumped.entry;
  reader->Require("state");
  reader->RequireBytes("key");
  const bool has_ready_at = reader->Has("ready_at");
  reader->Text("queue", dumped.queue);
  reader->Bytes("key", entry.key);
  wq::FailureInfo failures;
  EntryFields(*reader, entry, failures);
  if (entry.state == State::kDelayed && !has_ready_at) {
    reader->Refuse("there is no \"ready_at\"");
  }
  if (entry.debounced && entry.resync) {
    reader->Refuse("it is both debounced and a resync");
  }
  if (failures != wq::FailureInfo{} || entry.state == State::kQuarantined) {
    entry.failures = std::move(failures);
  }
  return dumped;
}

void ReadBegin(Reader* reader, DumpBegin* begin) {
  const uint64_t known = begin->version;
  reader->Require("version");
  reader->Number("version", begin->version);
  if (begin->version != known) {
    reader->Refuse("it is the begin of a dump of version " + std::to_string(begin->version) +
                   "; this program knows version " + std::to_string(known));
  }
}

}  // namespace

void SetState(const wq::Entry& entry, Json* json) {
  static const wq::FailureInfo none;
  Writer writer(json);
  EntryFields(writer, entry, entry.failures ? *entry.failures : none);
}

void AppendDumpLine(const wq::QueueInfo& info, std::string* out) {
  Json json = {{"record", "queue"}};
  Writer writer(&json);
  QueueFields(writer, info);
  out->append(json.dump());
}

void AppendDumpLine(const DumpedCursor& cursor, std::string* out) {
  Json json = {{"record", "cursor"}};
  Writer writer(&json);
  CursorFields(writer, cursor);
  out->append(json.dump());
}

void AppendDumpLine(const DumpedSource& source, std::string* out) {
  Json json = {{"record", "source"}};
  Writer writer(&json);
  SourceFields(writer, source);
  out->append(json.dump());
}

void AppendDumpLine(const DumpedObject& object, std::string* out) {
  Json json = {{"record", "object"}};
  Writer writer(&json);
  ObjectFields(writer, object);
  out->append(json.dump());
}

void AppendDumpLine(const DumpBegin& begin, std::string* out) {
  const Json json = {{"record", "begin"}, {"version", begin.version}};
  out->append(json.dump());
}

void AppendDumpLine(const DumpEnd& end, std::string* out) {
  const Json json = {{"record", "end"}, {"records", end.records}};
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
  Reader reader(&object.fields());
  std::string kind = "entry";
  reader.Text("record", kind);
  if (kind != "begin" && kind != "end") reader.Require("queue");
  if (kind == "begin") {
    ReadBegin(&reader, &record->emplace<DumpBegin>());
  } else if (kind == "end") {
    reader.Require("records");
    reader.Number("records", record->emplace<DumpEnd>().records);
  } else if (kind == "queue") {
    QueueFields(reader, record->emplace<wq::QueueInfo>());
  } else if (kind == "cursor") {
    CursorFields(reader, record->emplace<DumpedCursor>());
  } else if (kind == "source") {
    SourceFields(reader, record->emplace<DumpedSource>());
  } else if (kind == "object") {
    ObjectFields(reader, record->emplace<DumpedObject>());
  } else if (kind == "limits") {
    record->emplace<DumpedLimits>();
    object.fields().clear();
  } else if (kind == "entry") {
    *record = ReadEntry(&reader);
  } else {
    reader.Refuse("unknown kind of record \"" + wq::EscapeKey(kind, 40) + "\"");
    object.fields().clear();
  }
  return reader.Finish(error);
}

}  // namespace wqctl

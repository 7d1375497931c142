#include "tools/wqctl/text/dump_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
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

// The kinds of records, by their index in DumpRecord.
constexpr std::array<std::string_view, std::variant_size_v<DumpRecord>> kKinds = {
    "queue", "cursor", "source", "object", "limits", "entry", "begin", "end"};

// A record to be read, or one to be written.
template <typename T, typename Record>
concept Is = std::same_as<std::remove_const_t<T>, Record>;

// The fields of the kinds of records, in the order in which they are written. `io` is a
// Writer or a Reader. A Writer leaves out a field whose last argument is false; a Reader accepts
// every field anywhere and leaves the value of a missing one unchanged.

template <typename Io, Is<wq::QueueInfo> Info>
void Fields(Io& io, Info& info) {
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

template <typename Io, Is<DumpedCursor> Cursor>
void Fields(Io& io, Cursor& cursor) {
  io.Text("queue", cursor.queue);
  io.Text("name", cursor.name);
  io.Bytes("value", cursor.value);
}

template <typename Io, Is<DumpedSource> Source>
void Fields(Io& io, Source& dumped) {
  io.Text("queue", dumped.queue);
  io.Text("name", dumped.source.name);
  io.Hash("fingerprint", dumped.source.fingerprint);
  io.Hash("scope", dumped.source.scope);
}

template <typename Io, Is<DumpedObject> Object>
void Fields(Io& io, Object& dumped) {
  auto& row = dumped.object;
  io.Text("queue", dumped.queue);
  io.Text("source", row.source);
  io.Bytes("object", row.object);
  io.Bytes("version", row.version, !row.version.empty());
  io.Bytes("keys", row.keys, !row.keys.empty());
  io.Bytes("tombstone", row.tombstone, !row.tombstone.empty());
  io.Hash("fingerprint", row.fingerprint);
  io.Hash("scope", row.scope);
}

template <typename Io, Is<DumpBegin> Begin>
void Fields(Io& io, Begin& begin) {
  io.Number("version", begin.version);
}

template <typename Io, Is<DumpEnd> End>
void Fields(Io& io, End& end) {
  io.Number("records", end.records);
}

// The fields of an entry besides the queue and the key. `failures` are entry.failures, or zeros.
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

// Parses a flat object. Builds nothing of a nested value, so that deep nesting takes no memory.
bool ParseFlat(std::string_view line, nlohmann::json* object, std::string* error) {
  using Event = nlohmann::json::parse_event_t;
  std::set<std::string> names;
  std::string why;  // The first one.
  const auto refuse = [&why](std::string text) {
    if (why.empty()) why = std::move(text);
    return false;
  };
  const auto take = [&](int depth, Event event, const nlohmann::json& parsed) {
    if (event == Event::array_start) {
      return refuse(depth > 0 ? "a value is an array, not a plain one"
                              : "it is a JSON array; one object a line is needed: dump -o jsonl");
    }
    if (event == Event::object_start && depth > 0) {
      return refuse("a value is an object, not a plain one");
    }
    if (event == Event::key && !names.insert(parsed.get<std::string>()).second) {
      refuse("\"" + wq::EscapeKey(parsed.get<std::string>(), 40) + "\" is there twice");
    }
    return true;
  };
  try {
    *object = nlohmann::json::parse(line, take);
    if (!object->is_object()) refuse("it is no JSON object");
  } catch (const nlohmann::json::parse_error& e) {
    refuse("it is not JSON at byte " + std::to_string(e.byte));
  } catch (const nlohmann::json::exception&) {  // A number that is too large for a double.
    refuse("a number is too large");
  }
  *error = std::move(why);
  return error->empty();
}

// Takes fields out of an object, by name and type, and keeps the first error.
class Reader {
 public:
  explicit Reader(nlohmann::json* object) : fields_(*object) {}

  bool Has(const std::string& name) const { return fields_.contains(name); }

  void Text(const std::string& name, std::string& target) { Take(name, "a string", target); }
  void Bool(const std::string& name, bool& target, bool /*present*/ = true) {
    Take(name, "true or false", target);
  }
  // As SetBytes wrote it; keys in hexadecimal too.
  void Bytes(const std::string& name, std::string& target, bool /*present*/ = true) {
    if (FormsOf(name) > 1) RequireBytes(name);
    Text(name, target);
    Decoded(name + "_base64", "base64", wq::FromBase64, target);
    Decoded(name + "_hex", "hexadecimal", FromHex, target);
  }
  template <typename T>
  void Number(const std::string& name, T& target, bool /*present*/ = true) {
    TakeBy(name, "a whole number", [&target](const nlohmann::json& value) {
      const auto* number = value.get_ptr<const uint64_t*>();
      const bool fits = number != nullptr && *number <= std::numeric_limits<T>::max();
      if (fits) target = static_cast<T>(*number);
      return fits;
    });
  }
  void Hash(const std::string& name, uint64_t& target) {
    TakeBy(name, "16 hexadecimal digits", [&target](const nlohmann::json& value) {
      const auto* text = value.get_ptr<const std::string*>();
      return text != nullptr && text->size() == 16 &&
             std::all_of(text->begin(), text->end(), absl::ascii_isxdigit) &&
             absl::SimpleHexAtoi(*text, &target);
    });
  }
  // A value that is computed from other fields and the queue's options. Only its type is checked.
  void Derived(const std::string& name, const std::optional<uint32_t>&, bool /*present*/) {
    uint32_t unused = 0;
    Number(name, unused);
  }
  void Time(const std::string& name, int64_t& target, bool /*present*/ = true) {
    Decoded(name, "a time, such as 2026-01-31T12:00:00.000001Z", ParseTime, target);
  }
  void Seconds(const std::string& name, int64_t& target_us, bool /*present*/) {
    TakeBy(name, "a number of seconds", [&target_us](const nlohmann::json& value) {
      const double seconds = value.is_number() ? value.get<double>() : -1;
      const bool fits = seconds >= 0 && seconds < 1e10;
      if (fits) target_us = std::llround(seconds * 1e6);
      return fits;
    });
  }
  void StateName(const std::string& name, State& target) {
    Decoded(name, "a state: pending, delayed, failing or quarantined", wq::ParseEntryState, target);
  }
  void Causes(const std::string& name, wq::Causes& target, bool /*present*/) {
    Decoded(name, "a list of causes: lines \"TRACEPARENT REASON\", either may be -", ParseCauses,
            target);
  }
  void Lane(const std::string& name, wq::Lane& target, bool /*present*/) {
    Decoded(name, "a lane: fast, slow or a 32-bit integer", wq::ParseLane, target);
  }

  void Require(const std::string& name) {
    if (!Has(name)) Refuse("there is no \"" + name + "\"");
  }
  void RequireBytes(const std::string& name) {
    if (FormsOf(name) == 1) return;
    Refuse("there is not one of \"" + name + "\", \"" + name + "_base64\" and \"" + name +
           "_hex\"");
  }
  void Refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }
  // Call it after all known fields were taken.
  bool Finish(std::string* error) {
    if (!fields_.empty()) {
      Refuse("unknown field \"" + wq::EscapeKey(fields_.begin().key(), 40) + "\"");
    }
    *error = error_;
    return error_.empty();
  }

 private:
  int FormsOf(const std::string& name) const {
    return Has(name) + Has(name + "_base64") + Has(name + "_hex");
  }
  template <typename T>
  void Take(const std::string& name, const std::string& what, T& target) {
    TakeBy(name, what, [&target](const nlohmann::json& value) {
      const auto* typed = value.get_ptr<const T*>();
      if (typed != nullptr) target = *typed;
      return typed != nullptr;
    });
  }
  template <typename T>
  void Decoded(const std::string& name, const std::string& what,
               std::optional<T> (*decode)(std::string_view), T& target) {
    TakeBy(name, what, [decode, &target](const nlohmann::json& value) {
      const auto* text = value.get_ptr<const std::string*>();
      std::optional<T> decoded = text == nullptr ? std::nullopt : decode(*text);
      if (!decoded) return false;
      target = *std::move(decoded);
      return true;
    });
  }
  template <typename Read>
  void TakeBy(const std::string& name, const std::string& what, const Read& read) {
    const auto it = fields_.find(name);
    if (it == fields_.end()) return;
    if (!read(*it)) Refuse("\"" + name + "\" is not " + what);
    fields_.erase(it);
  }

  nlohmann::json& fields_;
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
  Fields(*reader, *begin);
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

void AppendDumpLine(const DumpRecord& record, bool hex, std::string* out) {
  if (const auto* dumped = std::get_if<DumpedEntry>(&record)) {
    return AppendDumpLine(dumped->queue, dumped->entry, hex, out);
  }
  Json json = {{"record", kKinds[record.index()]}};
  Writer writer(&json);
  std::visit(
      [&writer](const auto& of) {
        if constexpr (requires { Fields(writer, of); }) Fields(writer, of);
      },
      record);
  out->append(JsonText(json));
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
  out->append(JsonText(json));
}

bool ParseDumpLine(std::string_view line, DumpRecord* record, std::string* error) {
  if (line.size() > kMaxDumpLineBytes) {
    *error = "it is longer than " + std::to_string(kMaxDumpLineBytes) + " bytes";
    return false;
  }
  nlohmann::json object;
  if (!ParseFlat(line, &object, error)) return false;
  Reader reader(&object);
  std::string kind = "entry";
  reader.Text("record", kind);
  if (kind != "begin" && kind != "end") reader.Require("queue");
  if (kind == "begin") {
    ReadBegin(&reader, &record->emplace<DumpBegin>());
  } else if (kind == "end") {
    reader.Require("records");
    Fields(reader, record->emplace<DumpEnd>());
  } else if (kind == "queue") {
    Fields(reader, record->emplace<wq::QueueInfo>());
  } else if (kind == "cursor") {
    Fields(reader, record->emplace<DumpedCursor>());
  } else if (kind == "source") {
    Fields(reader, record->emplace<DumpedSource>());
  } else if (kind == "object") {
    Fields(reader, record->emplace<DumpedObject>());
  } else if (kind == "limits") {
    record->emplace<DumpedLimits>();
    object.clear();
  } else if (kind == "entry") {
    *record = ReadEntry(&reader);
  } else {
    reader.Refuse("unknown kind of record \"" + wq::EscapeKey(kind, 40) + "\"");
    object.clear();
  }
  return reader.Finish(error);
}

}  // namespace wqctl

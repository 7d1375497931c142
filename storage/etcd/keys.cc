#include "storage/etcd/keys.h"

#include <array>
#include <charconv>
#include <utility>

#include "wq/keys.h"

namespace wq::etcd {
namespace {

constexpr size_t kMaxNameBytes = 512;
constexpr size_t kMaxIdBytes = 128;
constexpr size_t kSequenceDigits = 16;
constexpr size_t kPartDigits = 8;

std::string Hex(uint64_t number, size_t digits) {
  std::array<char, 16> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  const auto length = static_cast<size_t>(end - text.data());
  return std::string(length < digits ? digits - length : 0, '0').append(text.data(), length);
}

template <typename Number>
bool ReadNumber(std::string_view text, int base, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number, base);
  return error == std::errc() && stop == end;
}

// The value of "name=value" in a text of such fields; "" if it is not there.
std::string_view Field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view field = text.substr(0, space);
    if (field.size() > name.size() && field.substr(0, name.size()) == name &&
        field[name.size()] == '=') {
      return field.substr(name.size() + 1);
    }
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return {};
}

template <typename Number>
Status ReadField(std::string_view key, std::string_view value, std::string_view name,
                 Number* number) {
  if (!ReadNumber(Field(value, name), 10, number)) {
    return DamagedKey(key, std::string(name) + " is not a number");
  }
  return {};
}

}  // namespace

KeyRange Keys::Below(std::string folder) {
  std::string end = folder;
  ++end.back();  // After the slash comes the digit 0.
  return {std::move(folder), std::move(end)};
}

std::string Keys::Entry(LogSequence sequence) const {
  return root_ + "log/" + Hex(sequence, kSequenceDigits);
}

KeyRange Keys::EntriesFrom(LogSequence sequence) const {
  return {Entry(sequence), Below(root_ + "log/").end};
}

KeyRange Keys::EntriesBefore(LogSequence sequence) const { return {Entry(0), Entry(sequence)}; }

std::string Keys::Part(std::string_view id, uint64_t index) const {
  return root_ + "checkpoints/" + std::string(id) + "/" + Hex(index, kPartDigits);
}

KeyRange Keys::PartsOfSmallerIds(std::string_view id) const {
  const std::string folder = root_ + "checkpoints/";
  return {folder, folder + std::string(id) + "/"};
}

KeyRange Keys::PartsOfLargerIds(std::string_view id) const {
  const std::string folder = root_ + "checkpoints/";
  return {Below(folder + std::string(id) + "/").end, Below(folder).end};
}

std::string Keys::Replica(std::string_view name) const {
  return root_ + "replicas/" + std::string(name);
}

Status Keys::ReadEntryKey(std::string_view key, LogSequence* sequence) const {
  const std::string folder = root_ + "log/";
  if (key.size() != folder.size() + kSequenceDigits || key.substr(0, folder.size()) != folder ||
      !ReadNumber(key.substr(folder.size()), 16, sequence) || Entry(*sequence) != key) {
    return DamagedKey(key, "it does not end with the number of an entry");
  }
  return {};
}

Status Keys::ReadReplicaKey(std::string_view key, std::string* name) const {
  const size_t folder = Replica("").size();
  return ReadName(key, key.size() < folder ? std::string_view() : key.substr(folder), name);
}

bool IsCheckpointId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && id.find('/') == std::string_view::npos;
}

Status ReadName(std::string_view key, std::string_view value, std::string* name) {
  if (value.empty() || value.size() > kMaxNameBytes) {
    return DamagedKey(key, "a name has 1 to 512 bytes");
  }
  *name = value;
  return {};
}

Status ReadSequence(std::string_view key, std::string_view value, LogSequence* sequence) {
  if (!ReadNumber(value, 10, sequence) || *sequence == 0) {
    return DamagedKey(key, "it is not the number of an entry");
  }
  return {};
}

Status ReadCheckpoint(std::string_view key, std::string_view value, LogCheckpoint* checkpoint) {
  LogCheckpoint read;
  // The id is the last field, as it may have spaces.
  const size_t id = value.find(" id=");
  if (id == std::string_view::npos || !IsCheckpointId(value.substr(id + 4))) {
    return DamagedKey(key, "it has no id");
  }
  read.id = value.substr(id + 4);
  value = value.substr(0, id);
  Status s = ReadField(key, value, "sequence", &read.sequence);
  if (s.ok()) s = ReadField(key, value, "parts", &read.parts);
  if (s.ok()) s = ReadField(key, value, "rows", &read.rows);
  if (s.ok()) s = ReadField(key, value, "bytes", &read.bytes);
  if (s.ok()) s = ReadField(key, value, "made_at_us", &read.made_at_us);
  if (s.ok()) *checkpoint = std::move(read);
  return s;
}

std::string CheckpointText(const LogCheckpoint& c) {
  return "sequence=" + std::to_string(c.sequence) + " parts=" + std::to_string(c.parts) +
         " rows=" + std::to_string(c.rows) + " bytes=" + std::to_string(c.bytes) +
         " made_at_us=" + std::to_string(c.made_at_us) + " id=" + c.id;
}

Status ReadReplica(std::string_view key, std::string_view value, LogReplica* replica) {
  Status s = ReadField(key, value, "applied", &replica->applied);
  if (s.ok()) s = ReadField(key, value, "seen_at_us", &replica->seen_at_us);
  return s;
}

std::string ReplicaText(const LogReplica& replica) {
  return "applied=" + std::to_string(replica.applied) +
         " seen_at_us=" + std::to_string(replica.seen_at_us);
}

Status DamagedKey(std::string_view key, std::string_view why) {
  return Status::Corruption("the key " + EscapeKey(key) +
                            " of etcd is damaged: " + std::string(why));
}

}  // namespace wq::etcd

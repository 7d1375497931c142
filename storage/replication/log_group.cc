#include "storage/replication/log_group.h"

#include <algorithm>

#include "storage/mutation_batch.h"
#include "storage/record_keys.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq::storage {
namespace {

// In the log; never change.
enum Flag : uint8_t { kFirst = 1, kLast = 2 };
constexpr size_t kEpochOffset = 2;
constexpr size_t kChecksumOffset = 10;
static_assert(kChecksumOffset + sizeof(uint64_t) == kEntryHeaderBytes);

// Of `header`, the bytes before the checksum, and `piece`, those after it.
uint64_t Checksum(std::string_view header, std::string_view piece) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, header.data(), kChecksumOffset);
  XXH3_64bits_update(&state, piece.data(), piece.size());
  return XXH3_64bits_digest(&state);
}

Status Bad(LogSequence sequence, const std::string& why) {
  return Status::Corruption("the log's entry " + std::to_string(sequence) + ": " + why);
}

// What is wrong with the entry, whatever was before it; empty: nothing.
std::string BadBytes(std::string_view bytes) {
  if (bytes.size() < kEntryHeaderBytes) {
    return "it has " + std::to_string(bytes.size()) + " bytes, less than a header";
  }
  const auto version = static_cast<uint8_t>(bytes[0]);
  if (version != kEntryVersion) return "its version is " + std::to_string(version);
  if (Checksum(bytes, bytes.substr(kEntryHeaderBytes)) !=
      ReadBig64(bytes.substr(kChecksumOffset))) {
    return "its checksum does not match";
  }
  const auto flags = static_cast<uint8_t>(bytes[1]);
  if ((flags & ~(kFirst | kLast)) != 0) return "its flags are " + std::to_string(flags);
  return {};
}

}  // namespace

void SplitGroup(uint64_t epoch, std::string_view mutations, std::vector<std::string>* entries) {
  bool first = true;
  do {
    const std::string_view piece = mutations.substr(0, kMaxEntryPieceBytes);
    mutations.remove_prefix(piece.size());
    std::string& entry = entries->emplace_back();
    entry.reserve(kEntryHeaderBytes + piece.size());
    entry += static_cast<char>(kEntryVersion);
    entry += static_cast<char>((first ? kFirst : 0) | (mutations.empty() ? kLast : 0));
    AppendBig64(epoch, &entry);
    AppendBig64(Checksum(entry, piece), &entry);
    entry += piece;
    first = false;
  } while (!mutations.empty());
}

Status GroupReader::Add(const LogEntry& entry, bool* complete) {
  *complete = false;
  const std::string_view bytes = entry.bytes;
  if (const std::string why = BadBytes(bytes); !why.empty()) return Bad(entry.sequence, why);
  const bool begins = (static_cast<uint8_t>(bytes[1]) & kFirst) != 0;
  const bool replaces = begins && unfinished_ && entry.sequence == first_;
  if (entry.sequence != last_ + 1 && !replaces) {
    return Bad(entry.sequence, "it follows the entry " + std::to_string(last_));
  }
  if (begins && unfinished_ && !replaces) {
    return Bad(entry.sequence, "it begins a group after the unfinished one that begins at " +
                                   std::to_string(first_));
  }
  if (!begins && !unfinished_) return Bad(entry.sequence, "the beginning of its group is missing");
  const uint64_t epoch = ReadBig64(bytes.substr(kEpochOffset));
  if (epoch < epoch_ || (!begins && epoch != epoch_)) {
    return Bad(entry.sequence, "its epoch is " + std::to_string(epoch) + ", after an entry of " +
                                   std::to_string(epoch_));
  }

  if (begins) {
    first_ = entry.sequence;
    mutations_.clear();
  }
  mutations_ += bytes.substr(kEntryHeaderBytes);
  last_ = entry.sequence;
  epoch_ = epoch;
  unfinished_ = (static_cast<uint8_t>(bytes[1]) & kLast) == 0;
  if (unfinished_) return Status::Ok();
  MutationBatch batch;
  if (!batch.AppendMutations(mutations_)) {
    return Bad(entry.sequence, "the mutations of the group that begins at " +
                                   std::to_string(first_) + " cannot be decoded");
  }
  *complete = true;
  return Status::Ok();
}

}  // namespace wq::storage

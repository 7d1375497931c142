#include "storage/replication/log_group.h"

#include <algorithm>

#include "storage/mutation_batch.h"
#include "storage/record_keys.h"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

namespace wq::storage {
namespace {

// In the log; never change.
enum Flag : uint8_t { kFirst = 1, kLast = 2, kCompressed = 4 };
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
  if ((flags & ~(kFirst | kLast | kCompressed)) != 0)
    return "its flags are " + std::to_string(flags);
  return {};
}

// False: the group is to be written as it is.
bool Compress(std::string_view mutations, std::string* frame) {
  if (mutations.size() < kMinCompressedBytes || mutations.size() > kMaxCompressedGroupBytes) {
    return false;
  }
  constexpr int kFastest = 1;  // An entry waits for a round trip to the log, and a core for us.
  frame->resize(ZSTD_compressBound(mutations.size()));
  const size_t bytes =
      ZSTD_compress(frame->data(), frame->size(), mutations.data(), mutations.size(), kFastest);
  if (ZSTD_isError(bytes) != 0 || bytes >= mutations.size()) return false;
  frame->resize(bytes);
  return true;
}

// What is wrong with the frame; empty: nothing.
std::string Decompress(std::string_view frame, std::string* mutations) {
  const uint64_t bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  // Also greater: an error, or a frame without its size.
  if (bytes > kMaxCompressedGroupBytes) return "it is no frame of known size";
  mutations->resize(bytes);
  const size_t got =
      ZSTD_decompress(mutations->data(), mutations->size(), frame.data(), frame.size());
  if (ZSTD_isError(got) != 0) return ZSTD_getErrorName(got);
  return got == bytes ? std::string() : "it has another size than it says";
}

}  // namespace

void SplitGroup(uint64_t epoch, std::string_view mutations, std::vector<std::string>* entries) {
  std::string frame;
  const bool compressed = Compress(mutations, &frame);
  std::string_view left = compressed ? std::string_view(frame) : mutations;
  bool first = true;
  do {
    const std::string_view piece = left.substr(0, kMaxEntryPieceBytes);
    left.remove_prefix(piece.size());
    std::string& entry = entries->emplace_back();
    entry.reserve(kEntryHeaderBytes + piece.size());
    entry += static_cast<char>(kEntryVersion);
    entry += static_cast<char>((first ? kFirst : 0) | (left.empty() ? kLast : 0) |
                               (compressed ? kCompressed : 0));
    AppendBig64(epoch, &entry);
    AppendBig64(Checksum(entry, piece), &entry);
    entry += piece;
    first = false;
  } while (!left.empty());
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

  const bool compressed = (static_cast<uint8_t>(bytes[1]) & kCompressed) != 0;
  if (begins) {
    first_ = entry.sequence;
    compressed_ = compressed;
    pieces_.clear();
  } else if (compressed != compressed_) {
    return Bad(entry.sequence, "its group is partly compressed");
  }
  pieces_ += bytes.substr(kEntryHeaderBytes);
  last_ = entry.sequence;
  epoch_ = epoch;
  unfinished_ = (static_cast<uint8_t>(bytes[1]) & kLast) == 0;
  if (unfinished_) return Status::Ok();
  if (std::string why = TakeMutations(); !why.empty()) {
    return Bad(entry.sequence,
               "the group that begins at " + std::to_string(first_) + " cannot be decoded: " + why);
  }
  *complete = true;
  return Status::Ok();
}

// Makes mutations_ of pieces_. Returns what is wrong with them; empty: nothing.
std::string GroupReader::TakeMutations() {
  if (compressed_) {
    if (std::string why = Decompress(pieces_, &mutations_); !why.empty()) return why;
  } else {
    mutations_.swap(pieces_);
  }
  MutationBatch batch;
  return batch.AppendMutations(mutations_) ? std::string() : "its mutations are damaged";
}

}  // namespace wq::storage

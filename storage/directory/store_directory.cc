#include "storage/store_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string_view>
#include <vector>

#include "base/file_calls.h"
#include "base/files.h"
#include "base/names.h"
#include "base/unfinished_directory.h"
#include "storage/history_log.h"
#include "storage/open.h"
#include "storage/storage.h"

namespace wq::storage {
namespace {

constexpr std::string_view kFormatWord = "wq-store ";
constexpr std::string_view kSnapshotWord = "wq-snapshot 1 ";
constexpr std::string_view kClaimWord = "wq-claim 1 ";
constexpr size_t kUuidBytes = 36;

// Not ends_with: a suffix alone is no name of a store's file.
bool HasSuffix(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}

Status BadFormat(const std::string& path) {
  return Status::Corruption(path + " is damaged: it is not \"wq-store <version> <uuid>\"");
}

Status ReadFormat(const std::string& dir, Format* format) {
  const std::string path = dir + "/" + kFormatFile;
  std::string text;
  Status status = ReadSmallFile(path, 4096, &text);
  if (!status.ok()) return status;
  if (!text.starts_with(kFormatWord)) return BadFormat(path);
  const char* const end = text.data() + text.size();
  const auto [next, error] =
      std::from_chars(text.data() + kFormatWord.size(), end, format->version);
  if (error != std::errc() || next == end || *next != ' ') return BadFormat(path);
  // Before the rest is parsed: another version may write something else there.
  if (format->version < kOldestFormatVersion || format->version > kFormatVersion) {
    return Status::NotSupported(path + " has format version " + std::to_string(format->version) +
                                "; this wq reads versions " + std::to_string(kOldestFormatVersion) +
                                " to " + std::to_string(kFormatVersion) +
                                ": use a wq of the store's version");
  }
  const std::string_view rest(next + 1, static_cast<size_t>(end - next - 1));
  if (rest.size() != kUuidBytes + 1 || rest.back() != '\n') return BadFormat(path);
  format->uuid = rest.substr(0, kUuidBytes);
  if (format->uuid.find_first_not_of("0123456789ABCDEFabcdef-") != std::string::npos) {
    return BadFormat(path);
  }
  return Status::Ok();
}

Status InspectStoreFiles(const std::string& dir, DirectoryInfo* found) {
  std::vector<std::string> names;
  Status status = ListDirectory(dir, &names);
  if (!status.ok()) return status;
  found->is_being_made =
      std::erase_if(names, [](const auto& name) { return name == kUnfinishedFile; }) > 0;
  const auto has = [&names](std::string_view name) {
    return std::binary_search(names.begin(), names.end(), name);
  };
  found->has_database = has("CURRENT");
  found->is_snapshot = has(kSnapshotFile);
  found->has_claim = has(kClaimFile);
  if (has(kFormatFile)) {
    found->state = DirectoryState::kStore;
    status = ReadFormat(dir, &found->format);
    if (!status.ok()) return status;
    return found->has_database ? status : Status::Corruption(dir + "/CURRENT is missing");
  }
  const auto foreign =
      std::find_if_not(names.begin(), names.end(), [](const auto& n) { return IsStoreFile(n); });
  if (foreign != names.end()) found->foreign_file = *foreign;
  if (names.empty() || (names.size() == 1 && names[0] == "lost+found")) {
    found->state = DirectoryState::kEmpty;
  } else if (foreign == names.end() && has("OWNER")) {
    found->state = DirectoryState::kUnfinished;
  } else {
    // RocksDB's files without OWNER are the database of another program.
    found->state = DirectoryState::kForeign;
    found->only_database = foreign == names.end();
    if (found->only_database) found->foreign_file = names[0];
  }
  return Status::Ok();
}

}  // namespace

// The files of a store, ours and RocksDB's. page.series is of an earlier version. lost+found is in
// the root of every ext file system, which may be a store.
bool IsStoreFile(std::string_view name) {
  for (const std::string_view known :
       {"OWNER", "FORMAT", "FORMAT.tmp", "CURRENT", "IDENTITY", "LOCK", "LOG", kControlSocketFile,
        kSnapshotFile, kClaimFile, "CLAIM.tmp", kUnfinishedFile, kUnfinishedProcessLog,
        kHistoryDirectory, "page.series", "page.series.tmp", "lost+found"}) {
    if (name == known) return true;
  }
  return name.starts_with("LOG.old.") || name.starts_with("MANIFEST-") ||
         name.starts_with("OPTIONS-") || HasSuffix(name, ".log") || HasSuffix(name, ".sst") ||
         HasSuffix(name, ".dbtmp") || HasSuffix(name, ".ring");
}

Status InspectDirectory(const std::string& dir, DirectoryInfo* found) {
  *found = DirectoryInfo();
  if (dir.empty()) return Status::InvalidArgument("the name of the directory is empty");
  struct stat info;
  if (lstat(dir.c_str(), &info) != 0) {
    if (errno == ENOENT) return Status::Ok();
    if (errno == ENOTDIR) return Status::NotFound(dir + " is not a wq store: not a directory");
    return IOErrorOf("cannot inspect", dir, errno);
  }
  if (S_ISLNK(info.st_mode)) {
    return Status::InvalidArgument(dir + " is a symbolic link; name the directory itself");
  }
  if (!S_ISDIR(info.st_mode)) return Status::NotFound(dir + " is not a wq store: not a directory");
  return InspectStoreFiles(dir, found);
}

Status CheckOutsideStores(const std::string& path) {
  std::error_code error;
  // Where it cannot be found out, whoever makes something there gets the error.
  std::filesystem::path above = std::filesystem::weakly_canonical(path, error);
  while (!error && above.has_relative_path()) {
    above = above.parent_path();
    const auto has = [&above](const char* file) {
      return access((above / file).c_str(), F_OK) == 0;
    };
    Format format;
    // A store may have lost its FORMAT; and another program may have a file of this name.
    if (ReadFormat(above.string(), &format).ok() || (has("CURRENT") && has("OWNER"))) {
      return Status::InvalidArgument(path + " is inside the store " + above.string());
    }
  }
  return Status::Ok();
}

Status MakeDirectory(const std::string& dir) {
  if (CurrentFileCalls().MakeDirectory(dir) != 0) {
    return errno == EEXIST ? Status::Ok() : IOErrorOf("cannot make", dir, errno);
  }
  return SyncDirectory(ParentOf(dir));
}

Status WriteFormat(const std::string& dir, const Format& format) {
  return WriteFileAtomically(
      dir, kFormatFile,
      std::string(kFormatWord) + std::to_string(format.version) + " " + format.uuid + "\n");
}

Status ReadSnapshotTime(const std::string& dir, int64_t* taken_at_us) {
  const std::string path = dir + "/" + kSnapshotFile;
  std::string text;
  Status status = ReadSmallFile(path, 4096, &text);
  if (!status.ok()) return status;
  const char* const end = text.data() + text.size();
  if (text.starts_with(kSnapshotWord)) {
    const auto [next, error] =
        std::from_chars(text.data() + kSnapshotWord.size(), end, *taken_at_us);
    if (error == std::errc() && next + 1 == end && *next == '\n') return Status::Ok();
  }
  return Status::Corruption(path + " is damaged: it is not \"wq-snapshot 1 <microseconds>\"");
}

Status WriteSnapshotTime(const std::string& dir, int64_t taken_at_us) {
  return WriteFileAtomically(dir, kSnapshotFile,
                             std::string(kSnapshotWord) + std::to_string(taken_at_us) + "\n");
}

Status ReadClaim(const std::string& dir, std::string* uuid) {
  const std::string path = dir + "/" + kClaimFile;
  std::string text;
  Status status = ReadSmallFile(path, 4096, &text);
  if (!status.ok()) return status;
  if (!text.starts_with(kClaimWord) || text.size() != kClaimWord.size() + kUuidBytes + 1) {
    return Status::Corruption(path + " is damaged: it is not \"wq-claim 1 <uuid>\"");
  }
  *uuid = text.substr(kClaimWord.size(), kUuidBytes);
  return status;
}

Status WriteClaim(const std::string& dir, const std::string& uuid) {
  return WriteFileAtomically(dir, kClaimFile, std::string(kClaimWord) + uuid + "\n");
}

Status RemoveClaim(const std::string& dir) {
  const std::string path = dir + "/" + kClaimFile;
  if (CurrentFileCalls().Remove(path) == 0) return SyncDirectory(dir);
  return errno == ENOENT ? Status::Ok() : IOErrorOf("cannot remove", path, errno);
}

std::string NewUuid() {
  std::random_device random;
  std::array<uint32_t, 4> words;
  for (uint32_t& word : words) word = static_cast<uint32_t>(random());
  words[1] = (words[1] & 0xffff0fffU) | 0x00004000U;  // Version 4: random.
  words[2] = (words[2] & 0x3fffffffU) | 0x80000000U;  // The variant of RFC 4122.
  std::array<char, kUuidBytes + 1> text;
  std::snprintf(text.data(), text.size(), "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16,
                words[1] & 0xffff, words[2] >> 16, words[2] & 0xffff, words[3]);
  return text.data();
}

std::string WithoutTrailingSlashes(const std::string& dir) {
  const size_t last = dir.find_last_not_of('/');
  if (last == std::string::npos) return dir.empty() ? dir : "/";
  return dir.substr(0, last + 1);
}

}  // namespace wq::storage

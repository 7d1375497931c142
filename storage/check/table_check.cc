#include "storage/check/table_check.h"

#include <fcntl.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/little_endian.h"
#include "storage/field_reader.h"
#include "storage/rocksdb/setup.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wq::storage {
namespace {

// A table's footer: type of checksum · place of the metaindex block, which has the places of other
// blocks · place of the index block · zeros · version (4) · magic (8).
constexpr size_t kEndBytes = 53;
constexpr uint64_t kMagic = 0x88e241b785f4cff7;
// Behind each block: type of its compression · checksum (4).
constexpr size_t kTrailerBytes = 5;
// Bounds the blocks that are read here: the metaindex, which is a few names and places, and the
// properties.
constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 20;

class TableFile {
 public:
  TableFile(const std::string& path, int fd) : path_(path), file_(fd) {}

  Status Check();

 private:
  Status Read(uint64_t offset, uint64_t bytes, std::string* text);
  // Reads and verifies the block at this place, which is parsed from the front of `place`.
  Status ReadBlock(FieldReader* place, std::string_view what, std::string* block);
  Status Damaged(std::string_view why) const {
    return Status::Corruption(path_ + ": " + std::string(why));
  }

  const std::string& path_;
  const FileDescriptor file_;
  uint64_t size_ = 0;
};

// RocksDB's checksum of a block: of its bytes, with the type of its compression mixed in.
uint32_t ChecksumOf(std::string_view block, char compression) {
  constexpr uint32_t kMix = 0x6b9083d9;
  const auto sum = static_cast<uint32_t>(XXH3_64bits(block.data(), block.size()));
  return sum ^ static_cast<uint32_t>(static_cast<unsigned char>(compression)) * kMix;
}

// The value of `name` in a block. An entry is three lengths (of the prefix that its key shares with
// the previous key, of the rest of the key, of the value), then the rest of the key and the value.
// REQUIRES: the block is intact.
std::optional<std::string> Find(std::string_view block, std::string_view name) {
  if (block.size() < 4) return std::nullopt;
  const uint64_t restarts = LittleEndianAt<uint32_t>(block, block.size() - 4);
  if (restarts >= block.size() / 4) return std::nullopt;
  FieldReader entries(block.substr(0, block.size() - 4 * (restarts + 1)));
  std::string key;
  while (entries.more()) {
    const uint64_t shared = entries.Number();
    const uint64_t more = entries.Number();
    const uint64_t value_bytes = entries.Number();
    if (shared > key.size()) return std::nullopt;
    key.resize(shared);
    key.append(entries.Take(more));
    const std::string_view value = entries.Take(value_bytes);
    if (entries.good() && key == name) return std::string(value);
  }
  return std::nullopt;
}

Status TableFile::Read(uint64_t offset, uint64_t bytes, std::string* text) {
  text->resize(bytes);
  size_t got = 0;
  Status status = ReadAt(file_.get(), path_, offset, bytes, text->data(), &got);
  return !status.ok() || got == bytes ? status : Damaged("it is cut off");
}

Status TableFile::ReadBlock(FieldReader* place, std::string_view what, std::string* block) {
  const std::string damaged = "its " + std::string(what) + " are damaged";
  const uint64_t offset = place->Number();
  const uint64_t bytes = place->Number();
  if (!place->good() || bytes > kMaxBlockBytes || offset > size_ ||
      bytes + kTrailerBytes > size_ - offset) {
    return Damaged(damaged);
  }
  Status status = Read(offset, bytes + kTrailerBytes, block);
  if (!status.ok()) return status;
  const char compression = (*block)[bytes];
  const auto checksum = LittleEndianAt<uint32_t>(*block, bytes + 1);
  block->resize(bytes);
  // RocksDB compresses neither of the two blocks.
  if (compression != 0 || ChecksumOf(*block, compression) != checksum) return Damaged(damaged);
  return status;
}

Status TableFile::Check() {
  struct stat info = {};
  if (fstat(file_.get(), &info) != 0) return IOErrorOf("cannot look at", path_, errno);
  if (!S_ISREG(info.st_mode)) return Damaged("it is not a file");
  size_ = static_cast<uint64_t>(info.st_size);
  if (size_ < kEndBytes) return Damaged("it is too short for a table");
  std::string end;
  Status status = Read(size_ - kEndBytes, kEndBytes, &end);
  if (!status.ok()) return status;
  const std::string_view bytes = end;
  if (LittleEndianAt<uint64_t>(bytes, kEndBytes - 8) != kMagic ||
      LittleEndianAt<uint32_t>(bytes, kEndBytes - 12) != kTableVersion ||
      static_cast<unsigned char>(bytes[0]) != kTableChecksum) {
    return Damaged("it does not end as a table does");
  }
  FieldReader places(bytes.substr(1));
  std::string block;
  status = ReadBlock(&places, "places of blocks", &block);
  if (!status.ok()) return status;
  const std::optional<std::string> place = Find(block, "rocksdb.properties");
  if (!place) return Damaged("it has no properties");
  FieldReader properties(*place);
  return ReadBlock(&properties, "properties", &block);
}

// An erasure hides one older record.
uint64_t RecordsOf(const rocksdb::TableProperties& table) {
  return table.num_entries - std::min(table.num_entries, 2 * table.num_deletions);
}

}  // namespace

Status CheckTableEnd(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return IOErrorOf("cannot open", path, errno);
  return TableFile(path, fd).Check();
}

Status CheckTableEnds(const std::string& dir, const Manifest& manifest) {
  for (const auto& [id, family] : manifest.families) {
    for (const auto& [number, bytes] : family.tables) {
      const std::string path = dir + "/" + TableName(number);
      struct stat info = {};
      if (lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) {
          return Status::Corruption(path + " is missing, which " + manifest.Name() + " names");
        }
        return IOErrorOf("cannot look at", path, errno);
      }
      if (!S_ISREG(info.st_mode)) return Status::Corruption(path + " is not a file");
      if (static_cast<uint64_t>(info.st_size) != bytes) {
        return Status::Corruption(path + " has " + std::to_string(info.st_size) + " bytes; " +
                                  manifest.Name() + " says " + std::to_string(bytes));
      }
      Status status = CheckTableEnd(path);
      if (!status.ok()) return status;
    }
  }
  return Status::Ok();
}

Status CheckTables(const std::string& dir, const Manifest& manifest, uint64_t* records) {
  rocksdb::Options options;
  options.info_log = SilentLogger();
  for (const auto& [id, family] : manifest.families) {
    for (const auto& [number, bytes] : family.tables) {
      const std::string path = dir + "/" + TableName(number);
      rocksdb::SstFileReader table(options);
      rocksdb::Status status = table.Open(path);
      if (status.ok()) status = table.VerifyChecksum();
      if (!status.ok()) return FromRocksdbOpen(status, path);
      if (records != nullptr) *records += RecordsOf(*table.GetTableProperties());
    }
  }
  return Status::Ok();
}

}  // namespace wq::storage

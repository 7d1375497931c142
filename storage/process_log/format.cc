#include "storage/process_log/format.h"

#include <cstring>

#include "base/crc32c.h"
#include "base/little_endian.h"

namespace wq::storage {
namespace {

constexpr size_t kCheckedFrom = 16;  // In the header: what its checksum covers begins here.

void AppendLogText(std::string_view text, std::string* out) {
  out->push_back(static_cast<char>(text.size()));
  out->append(text);
}

std::string TakeLogText(std::string_view* bytes) {
  const auto size = static_cast<unsigned char>(bytes->front());
  const std::string text(bytes->substr(1, size));
  bytes->remove_prefix(size_t{1} + size);
  return text;
}

}  // namespace

std::string EncodeLogHeader(const ProcessLogHeader& header) {
  std::string checked;
  PutLittleEndian(header.number, &checked);
  PutLittleEndian(header.capacity, &checked);
  PutLittleEndian(header.nonce, &checked);
  AppendLogText(header.store_uuid, &checked);
  AppendLogText(header.boot_id, &checked);
  checked.resize(kLogPageBytes - kCheckedFrom, '\0');
  std::string page(kProcessLogMagic);
  PutLittleEndian(kProcessLogVersion, &page);
  PutLittleEndian(MaskCrc32c(Crc32c(0, checked)), &page);
  return page + checked;
}

Status DecodeLogHeader(std::string_view page, ProcessLogHeader* header) {
  if (page.size() != kLogPageBytes || !page.starts_with(kProcessLogMagic)) {
    return Status::Corruption("this is not the header of a process log");
  }
  const auto version = LittleEndianAt<uint32_t>(page, 8);
  std::string_view rest = page.substr(kCheckedFrom);
  if (LittleEndianAt<uint32_t>(page, 12) != MaskCrc32c(Crc32c(0, rest))) {
    return Status::Corruption("the checksum of the header does not match");
  }
  if (version == 0 || version > kProcessLogVersion) {
    return Status::NotSupported("version " + std::to_string(version) +
                                " of a process log; this wq knows versions 1 to " +
                                std::to_string(kProcessLogVersion));
  }
  header->number = LittleEndianAt<uint64_t>(rest, 0);
  header->capacity = LittleEndianAt<uint64_t>(rest, 8);
  header->nonce = version == 1 ? 0 : LittleEndianAt<uint64_t>(rest, 16);
  rest.remove_prefix(version == 1 ? 16 : 24);
  header->store_uuid = TakeLogText(&rest);
  header->boot_id = TakeLogText(&rest);
  if (header->capacity == 0 || header->capacity % kLogPageBytes != 0 ||
      header->capacity > kMaxProcessLogBytes) {
    return Status::Corruption("the capacity is " + std::to_string(header->capacity));
  }
  return Status::Ok();
}

// Each Append calls this, so nothing is allocated.
LogRecordHeader EncodeLogRecordHeader(LogPosition position, uint64_t nonce,
                                      std::string_view mutations) {
  LogRecordHeader header;
  const auto put = [&header](auto number, size_t at) {
    std::memcpy(&header[at], &number, sizeof number);  // This machine is little-endian.
  };
  put(static_cast<uint32_t>(mutations.size()), 4);
  put(position ^ nonce, 8);
  // With the position in it: a kill between the stores of the header's words must not make a record
  // of an earlier lap, whose checksum is intact, one of this lap.
  const auto begun = static_cast<uint32_t>(position / 8);
  put(MaskCrc32c(Crc32c(begun, mutations)), 0);
  return header;
}

}  // namespace wq::storage

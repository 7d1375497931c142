#include "storage/process_log/format.h"

#include "base/crc32c.h"

namespace wq::storage {
namespace {

constexpr size_t kCheckedFrom = 16;  // In the header: what its checksum covers begins here.

template <typename Number>
void PutLogNumber(Number number, char* to) {
  for (size_t i = 0; i < sizeof number; ++i) to[i] = static_cast<char>(number >> (8 * i) & 0xff);
}

template <typename Number>
void AppendLogNumber(Number number, std::string* out) {
  out->resize(out->size() + sizeof number);
  PutLogNumber(number, out->data() + out->size() - sizeof number);
}

// Takes a number from the front of *bytes. REQUIRES: it is long enough.
template <typename Number>
Number TakeLogNumber(std::string_view* bytes) {
  Number number = 0;
  for (size_t i = 0; i < sizeof number; ++i) {
    number |= static_cast<Number>(static_cast<unsigned char>((*bytes)[i])) << (8 * i);
  }
  bytes->remove_prefix(sizeof number);
  return number;
}

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
  AppendLogNumber(header.number, &checked);
  AppendLogNumber(header.capacity, &checked);
  AppendLogNumber(header.nonce, &checked);
  AppendLogText(header.store_uuid, &checked);
  AppendLogText(header.boot_id, &checked);
  checked.resize(kLogPageBytes - kCheckedFrom, '\0');
  std::string page(kProcessLogMagic);
  AppendLogNumber(kProcessLogVersion, &page);
  AppendLogNumber(MaskCrc32c(Crc32c(0, checked)), &page);
  return page + checked;
}

Status DecodeLogHeader(std::string_view page, ProcessLogHeader* header) {
  if (page.size() != kLogPageBytes || !page.starts_with(kProcessLogMagic)) {
    return Status::Corruption("this is not the header of a process log");
  }
  std::string_view rest = page.substr(kProcessLogMagic.size());
  const auto version = TakeLogNumber<uint32_t>(&rest);
  if (TakeLogNumber<uint32_t>(&rest) != MaskCrc32c(Crc32c(0, rest))) {
    return Status::Corruption("the checksum of the header does not match");
  }
  if (version == 0 || version > kProcessLogVersion) {
    return Status::NotSupported("version " + std::to_string(version) +
                                " of a process log; this wq knows versions 1 to " +
                                std::to_string(kProcessLogVersion));
  }
  header->number = TakeLogNumber<uint64_t>(&rest);
  header->capacity = TakeLogNumber<uint64_t>(&rest);
  header->nonce = version == 1 ? 0 : TakeLogNumber<uint64_t>(&rest);
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
  PutLogNumber(static_cast<uint32_t>(mutations.size()), &header[4]);
  PutLogNumber(position ^ nonce, &header[8]);
  // With the position in it: a kill between the stores of the header's words must not make a record
  // of an earlier lap, whose checksum is intact, one of this lap.
  const auto begun = static_cast<uint32_t>(position / 8);
  PutLogNumber(MaskCrc32c(Crc32c(begun, mutations)), header.data());
  return header;
}

}  // namespace wq::storage

#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace wq {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t ByTable(uint32_t crc, std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ByInstruction(uint32_t crc, std::string_view bytes) {
  uint64_t wide = crc;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes.remove_prefix(sizeof word);
  }
  crc = static_cast<uint32_t>(wide);
  if (bytes.size() >= sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = __builtin_ia32_crc32si(crc, word);
    bytes.remove_prefix(sizeof word);
  }
  for (const char c : bytes) crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(c));
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ~ByInstruction(~crc, bytes);
#endif
  return Crc32cByTable(crc, bytes);
}

uint32_t Crc32cByTable(uint32_t crc, std::string_view bytes) { return ~ByTable(~crc, bytes); }

}  // namespace wq
